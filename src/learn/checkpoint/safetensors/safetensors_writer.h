// Writes safetensors files, byte for byte as the reference library does: docs/formats/safetensors.md.
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

// Takes the next bytes of a tensor.
using BlockSink = FunctionRef<Status(std::span<const std::byte>)>;

// One tensor to write. Its elements are written directly from the caller's memory. If `as` requests another element
// type, they are converted chunk by chunk.
struct TensorData {
  std::string name;
  Type type;                         // of the caller's elements
  std::span<const std::byte> bytes;  // the elements, row-major; type.bytes() bytes
  std::optional<DType> as;           // element type in the file; none: that of `type`
  // Used in place of `bytes` if it is set, for a tensor that is not in the host's memory: calls the sink with blocks
  // of whole elements, in order.
  std::function<Status(BlockSink)> blocks = {};
  // With `blocks`: calls the sink with the elements of rows begin to end - 1 of the first axis. Empty: rows cannot be
  // read separately.
  std::function<Status(int64_t begin, int64_t end, BlockSink)> rows = {};
};

using Metadata = std::map<std::string, std::string>;
inline const Metadata kTorchMetadata{{"format", "pt"}};  // Transformers requires it in model files
inline constexpr int64_t kDefaultShardSize = 5'000'000'000;  // bytes; Transformers 5: "5GB"

// Writes one file into `out`; the caller then calls out.commit(). Tensors are ordered by element type, the larger
// types first, then by name. H2206: an element cannot be converted to the type `as`.
Status write_safetensors(HashedFile& out, std::span<const TensorData> tensors,
                         const Metadata& metadata = kTorchMetadata);

// Writes <folder>/<stem>.safetensors. If the tensors take more than `max_shard_size` bytes, writes instead shards
// <stem>-00001-of-0000N.safetensors and then <stem>.safetensors.index.json. Shards are filled in the caller's order; a
// tensor is never split. Each file appears complete or not at all. At the end, files of an earlier save under this
// stem are removed. H2206 as in write_safetensors(); errors of the store.
Status save_safetensors(const std::string& folder, const std::string& stem,
                        std::span<const TensorData> tensors,
                        int64_t max_shard_size = kDefaultShardSize, Store& store = file_store());

// A file that was written.
struct WrittenFile {
  std::string name;  // within its folder
  int64_t bytes;
  uint64_t xxh64;  // checksum (xxh64.h)
};
// As save_safetensors(), but removes no files of an earlier save. Returns the files with their checksums.
Result<std::vector<WrittenFile>> write_shards(const std::string& folder, const std::string& stem,
                                              std::span<const TensorData> tensors,
                                              int64_t max_shard_size, Store& store);

// Removes files of an earlier save under this stem that are not among `kept`.
Status remove_stale(const std::string& folder, const std::string& stem,
                    const std::vector<WrittenFile>& kept, Store& store);

// The distribution of tensors to files.
struct ShardPlan {
  std::vector<std::string> files;            // names
  std::vector<std::vector<size_t>> members;  // for each file, the indices of its tensors
  std::string index;                         // text of the index file; "": there is one file only
};
ShardPlan plan_shards(const std::string& stem, std::span<const TensorData> tensors,
                      int64_t max_shard_size);

}  // namespace hone
