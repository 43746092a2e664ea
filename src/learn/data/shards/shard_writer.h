// Writes shards, and the files of the datasets library beside them.
#pragma once

#include <span>
#include <string>

#include "learn/data/shards/shards.h"

namespace hone {

// Writes all rows as files <folder>/<stem>-00000.arrow and so on, after those of the split, of at most
// `max_tokens` and a row; adds them to the split.
Status write_shards(const std::string& folder, const std::string& stem, const TokenRows& rows,
                    std::span<const RowColumn> beside, int64_t max_tokens, ShardSplit& split);

// Writes the datasets library's own files of a split, which has shards.
Status write_dataset_files(const std::string& folder, const ShardSplit& split);

// Writes dataset_dict.json, then the manifest; splits without shards are left out. The folder is
// finished.
Status write_shard_manifest(const std::string& folder, ShardManifest& manifest);

}  // namespace hone
