// Writes shards, and the JSON files that the datasets library needs to read the folder.
#pragma once

#include <span>
#include <string>

#include "learn/data/shards/shards.h"

namespace hone {

// Writes all rows as files <folder>/<stem>-00000.arrow and so on, and adds the files to split.shards. If split.shards
// is not empty, the numbers continue after its last shard. Also updates the hash and the smallest and largest id of
// `split`. A file ends with the row that reaches `max_tokens` tokens, counted in all columns of lists together.
// `beside` are the columns besides input_ids. Errors of all functions of this file: those of the store.
Status write_shards(const std::string& folder, const std::string& stem, const TokenRows& rows,
                    std::span<const RowColumn> beside, int64_t max_tokens, ShardSplit& split);

// Writes state.json and dataset_info.json of a split into its folder. The split must have shards.
Status write_dataset_files(const std::string& folder, const ShardSplit& split);

// Writes dataset_dict.json, then the manifest, which makes the folder finished. Removes splits without shards from the
// manifest.
Status write_shard_manifest(const std::string& folder, ShardManifest& manifest);

}  // namespace hone
