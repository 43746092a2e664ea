// Prepared token shards: the rows of a data set, tokenized and grouped once, in files that training maps into memory
// (shard_file.h). `hone prepare` writes them into a folder D. The datasets library can read D too, as a DatasetDict:
//
//   D/hone_shards.json                    what the rows were made from, and where they are
//   D/dataset_dict.json
//   D/train/data-00000.arrow ...          D/train/state.json, dataset_info.json
//   D/validation/...
//
// docs/formats/shards.md lists the keys.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "learn/data/rows/text_files.h"
#include "learn/data/shards/shard_file.h"

namespace hone {

struct ShardSplit {
  std::string name;
  std::vector<ShardFile> shards;
  TextCounts counts;  // for plain text: counts of rows and tokens
  // For other data: an object with the task's counts and names (row_shards.h); null for plain text.
  OrderedJson about;
  // RowsHash of all rows. If several processes made the shards (shared_prepare.h): FNV-1a over the hashes of their
  // items of work.
  uint64_t hash = 0;
  // The smallest and the largest of 0 and all token ids.
  int32_t min_id = 0, max_id = 0;
  int64_t rows() const;
  int64_t tokens() const;
};

// The JSON of a split in the manifest, and back. `name` is the file in messages. Errors: H2132 the JSON is not a split.
OrderedJson split_to_json(const ShardSplit& split);
Result<ShardSplit> split_from_json(const OrderedJson& json, const std::string& name);

struct ShardManifest {
  OrderedJson settings;  // by name: the values of all settings that affect the rows
  // The source files: [{"split": ..., "file": ..., "bytes": ..., "sha256": ...}, ...].
  OrderedJson sources;
  std::vector<ShardSplit> splits;

  std::string to_json() const;
};

// True if the folder holds shards of hone prepare, finished or not.
bool is_shard_folder(const std::string& path);
// Read the manifest from a folder, or from its text; `name` is the file in messages. Errors: H2132 the shards are not
// finished, or the text is not a manifest; those of parse_json and of the store.
Result<ShardManifest> read_shard_manifest(const std::string& folder);
Result<ShardManifest> parse_shard_manifest(std::string_view text, const std::string& name);

// Checks that every setting of `wanted` has the same value in `made`. `what` begins the message: "the shards 'D'".
// Errors: H2133 a setting differs; the message names the first one.
Status check_same_settings(const OrderedJson& made, const OrderedJson& wanted,
                           const std::string& what);

// Reads the manifest of the folder of shards paths[0], and checks its settings. `wanted`: settings by name that the
// shards must have. Errors: H2132 there are several paths, or the manifest cannot be read; H2133 a setting differs.
Result<ShardManifest> checked_shards(const std::vector<std::string>& paths,
                                     const OrderedJson& wanted);
// The split of this name. `folder` is for messages. Errors: H2132 there is no such split.
Result<ShardSplit> find_split(const ShardManifest& manifest, const std::string& split,
                              const std::string& folder);

// Maps the rows of a split. Errors: H2132 there is no such split, it is empty, or a shard is damaged; H0117 a file
// changed while it was read.
Result<TextData> open_shards(const std::string& folder, const ShardManifest& manifest,
                             const std::string& split);

// The source files of a split.
struct PreparedFiles {
  std::string split;
  std::vector<std::string> files;
};
// The records of source files for ShardManifest::sources: names, sizes and SHA-256 hashes. Reads each file completely.
// Errors: those of the store.
Result<OrderedJson> source_records(const std::vector<PreparedFiles>& splits);
// Checks that both records of sources are equal. `what` begins the message, as above. Errors: H2133 they differ.
Status check_same_sources(const OrderedJson& made, const OrderedJson& wanted,
                          const std::string& what);
// Error H2132: the output folder holds files that hone prepare does not write.
Error other_files(const std::string& folder);

struct PrepareOptions {
  std::string folder;    // the output folder
  OrderedJson settings;  // for ShardManifest::settings
  // A shard ends with the row that reaches this number of tokens.
  int64_t max_shard_tokens = 16 << 20;
  // Called after each shard with the split and the number of tokens written for it so far. A result other than 0 stops
  // the work: Prepared::stopped is then true.
  std::function<int(const std::string& split, int64_t tokens)> progress = {};
};
struct Prepared {
  ShardManifest manifest;
  // true: the work was stopped before it was finished. To continue, call the same function again.
  bool stopped = false;
  bool was_there = false;  // the folder held the finished shards before the call
  std::vector<std::string> notes;
};
// Reads and tokenizes every part and writes its shards. If an earlier run was killed or stopped, continues after its
// last finished shard; the files have the same bytes as those of an uninterrupted run. Finished shards are never
// written again. Errors: those of the data; H2133 the folder holds shards that were made with other settings or from
// other sources; H2132 the folder holds other files.
Result<Prepared> prepare_shards(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const Tokenize& tokenize);

// A split of rows with a label or a target, completely in memory.
struct RowSplit {
  std::string name;
  TokenRows rows;                 // input_ids
  std::vector<RowColumn> beside;  // the other columns, with the same number of rows
  OrderedJson about;              // for ShardSplit::about
};
// Writes the shards of rows with a label or a target. `read` returns the splits; it is called only if the folder does
// not hold finished shards of `files` with these settings. A run that was killed starts again from the first row.
// Errors: those of `read`; H2132, H2133 as prepare_shards.
Result<Prepared> prepare_rows(const std::vector<PreparedFiles>& files,
                              const PrepareOptions& options,
                              const std::function<Result<std::vector<RowSplit>>()>& read);

// One split of a folder with finished shards, to merge.
struct PreparedPart {
  std::string split, folder;
};
// Merges the shards of finished folders into options.folder. The folders must have been made with the same settings.
// `files` are the source files of all parts, by split. Rows and hashes are the same as if all files were prepared at
// once.
// Shards are hard links if the disk supports them, else copies. Errors: H2132 the rows have class labels or values,
// which folders may number differently; H2132, H2133 as prepare_shards.
Result<Prepared> merge_shards(const std::vector<PreparedFiles>& files,
                              const std::vector<PreparedPart>& parts,
                              const PrepareOptions& options);

// Deletes the files that prepare_shards writes. Does nothing if the folder holds no shards, finished or not.
Status remove_shards(const std::string& folder);

}  // namespace hone
