// Writing safetensors, byte for byte as the reference library does: see
// docs/formats/safetensors.md.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/threads.h"
#include "engine/graph/type.h"
#include "learn/checkpoint/safetensors/hashed_file.h"

namespace hone {

using BlockSink = FunctionRef<Status(std::span<const std::byte>)>;

// One tensor to write, straight from the caller's memory: it is copied only if `as` asks for
// another element type, a chunk at a time.
struct TensorData {
  std::string name;
  Type type;                         // of `bytes`
  std::span<const std::byte> bytes;  // row-major, type.bytes() of them
  std::optional<DType> as;           // element type in the file; that of `type` when empty
  // Instead of `bytes`, of a tensor that the host cannot reach: calls the sink with blocks of whole
  // elements, in order.
  std::function<Status(BlockSink)> blocks = {};
  // Beside `blocks`: the same for rows begin to end - 1 of the first axis. None: rows cannot be read apart.
  std::function<Status(int64_t begin, int64_t end, BlockSink)> rows = {};
};

using Metadata = std::map<std::string, std::string>;
inline const Metadata kTorchMetadata{{"format", "pt"}};  // Transformers requires it of a model file
inline constexpr int64_t kDefaultShardSize = 5'000'000'000;  // Transformers 5: max_shard_size "5GB"

// Streams one file into `out`, which the caller commits. Tensors are ordered by element size, then
// name. H2206 when an element does not fit the type asked for.
Status write_safetensors(HashedFile& out, std::span<const TensorData> tensors,
                         const Metadata& metadata = kTorchMetadata);

// Writes <folder>/<stem>.safetensors, or <stem>-00001-of-0000N.safetensors with
// <stem>.safetensors.index.json when the tensors take more than `max_shard_size` bytes; a tensor is
// never split. Each file appears complete or not at all, the index last. Shards are filled in the
// caller's order. Files of an earlier save with another number of shards are removed at the end.
Status save_safetensors(const std::string& folder, const std::string& stem,
                        std::span<const TensorData> tensors,
                        int64_t max_shard_size = kDefaultShardSize, Store& store = file_store());

// Like save_safetensors(), for a folder without an earlier save; returns the files with checksums.
struct WrittenFile {
  std::string name;
  int64_t bytes;
  uint64_t xxh64;
};
Result<std::vector<WrittenFile>> write_shards(const std::string& folder, const std::string& stem,
                                              std::span<const TensorData> tensors,
                                              int64_t max_shard_size, Store& store);

// Removes files of an earlier save under this stem that are not among `kept`.
Status remove_stale(const std::string& folder, const std::string& stem,
                    const std::vector<WrittenFile>& kept, Store& store);

struct ShardPlan {
  std::vector<std::string> files;            // names in order
  std::vector<std::vector<size_t>> members;  // indices of tensors, beside files
  std::string index;                         // text of the index; empty for a single file
};
ShardPlan plan_shards(const std::string& stem, std::span<const TensorData> tensors,
                      int64_t max_shard_size);

}  // namespace hone
