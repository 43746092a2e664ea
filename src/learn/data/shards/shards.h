// Prepared token shards: the rows of a data set, tokenised and grouped once, in files that training
// maps (shard_file.h). The folder is a DatasetDict of the datasets library as well:
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
  TextCounts counts;  // of rows of text
  OrderedJson about;  // of other rows: what their task notes of them (row_shards.h); else null
  uint64_t hash = 0;  // RowsHash of all rows
  int32_t min_id = 0, max_id = 0;
  int64_t rows() const;
  int64_t tokens() const;
};

// A split as the manifest keeps it. `name` (a file) appears in messages. Errors: H2132.
OrderedJson split_to_json(const ShardSplit& split);
Result<ShardSplit> split_from_json(const OrderedJson& json, const std::string& name);

struct ShardManifest {
  OrderedJson settings;  // by flag: all that decides the rows besides the text
  OrderedJson sources;   // [{"split", "file", "bytes", "sha256"}]
  std::vector<ShardSplit> splits;

  std::string to_json() const;
};

// Whether the folder holds shards of hone prepare, finished or not.
bool is_shard_folder(const std::string& path);
// Errors: H2132 (also when the shards are not finished) and those of parse_json.
Result<ShardManifest> read_shard_manifest(const std::string& folder);
Result<ShardManifest> parse_shard_manifest(std::string_view text, const std::string& name);

// Nothing when `made` has every setting of `wanted`; else H2133, which names the first that
// differs. `what` begins the message: "the shards 'D'".
Status check_same_settings(const OrderedJson& made, const OrderedJson& wanted,
                           const std::string& what);

// The manifest of the only folder of shards in `paths`, which must have the wanted settings.
// Errors: H2132, H2133.
Result<ShardManifest> checked_shards(const std::vector<std::string>& paths,
                                     const OrderedJson& wanted);
// Errors: H2132 when there is no such split.
Result<ShardSplit> find_split(const ShardManifest& manifest, const std::string& split,
                              const std::string& folder);

// The rows of a split, mapped. Errors: H2132 (also when there is no such split).
Result<TextData> open_shards(const std::string& folder, const ShardManifest& manifest,
                             const std::string& split);

struct PreparedFiles {
  std::string split;
  std::vector<std::string> files;
};
// The manifest's record of the files: their sizes and hashes.
Result<OrderedJson> source_records(const std::vector<PreparedFiles>& splits);
// Nothing when both are equal; else H2133. `what` begins the message.
Status check_same_sources(const OrderedJson& made, const OrderedJson& wanted,
                          const std::string& what);
// H2132 for an output folder with files that hone prepare does not write.
Error other_files(const std::string& folder);

struct PrepareOptions {
  std::string folder;
  OrderedJson settings;
  int64_t max_shard_tokens = 16 << 20;
  // Called after each shard with the split and its tokens so far; not 0 ends the work.
  std::function<int(const std::string& split, int64_t tokens)> progress;
};
struct Prepared {
  ShardManifest manifest;
  bool stopped = false;
  bool was_there = false;  // the folder held the finished shards already
  std::vector<std::string> notes;
};
// Reads, tokenises and writes every part. A run that was killed continues after its last finished
// shard, with the bytes of one that was not; finished shards are never written again.
// Errors: those of the data; H2133 when the folder holds shards of other settings or sources;
// H2132 when it holds anything else.
Result<Prepared> prepare_shards(const std::vector<TextPart>& parts, const PrepareOptions& options,
                                const Tokenize& tokenize);

// Rows with a label or a target, which are read whole.
struct RowSplit {
  std::string name;
  TokenRows rows;
  std::vector<RowColumn> beside;  // as many rows each
  OrderedJson about;              // for ShardSplit
};
// Prepares rows with a label or a target. `read` is called only if the folder does not hold these
// rows already. A run that was killed starts again from the first row.
Result<Prepared> prepare_rows(const std::vector<PreparedFiles>& files,
                              const PrepareOptions& options,
                              const std::function<Result<std::vector<RowSplit>>()>& read);

// Finished shards of some of the rows, and the split that they are of.
struct PreparedPart {
  std::string split, folder;
};
// Joins the shards of finished folders with the same settings in options.folder. Rows and hashes
// equal those of preparing all files at once. Shards are hard links if the disk supports them, else
// copies. Errors: H2132 for rows with classes, because folders may number classes differently;
// those of prepare_rows.
Result<Prepared> merge_shards(const std::vector<PreparedFiles>& files,
                              const std::vector<PreparedPart>& parts,
                              const PrepareOptions& options);

// Deletes what prepare_shards writes, if the folder holds shards, finished or not.
Status remove_shards(const std::string& folder);

}  // namespace hone
