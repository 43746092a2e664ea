// A checkpoint that several ranks write together: each rank writes one safetensors file, a part. No rank waits for
// another while it writes. Rank 0 then collects the names and checksums of all parts.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "engine/graph/shard.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"

namespace hone {

// The part of one rank.
struct PartFile {
  WrittenFile file;
  std::vector<std::string> tensors;  // names
  int64_t elements = 0, bytes = 0;   // of all its tensors together

  // Convert the part to JSON and back, to send it to rank 0. from_json() accepts only the result of to_json().
  Json to_json() const;
  static PartFile from_json(const Json& json);
};

// Writes the tensors of this rank. The file is <folder>/<stem>-00002-of-00003.safetensors if this rank is the second of
// three ranks, and <folder>/<stem>.safetensors if there is one rank. Errors: those of write_safetensors() and the
// store.
Result<PartFile> write_part(const std::string& folder, const std::string& stem, const Share& share,
                            std::span<const TensorData> tensors, Store& store = file_store());
// The text of <stem>.safetensors.index.json for all parts, in Transformers' form.
std::string index_of_parts(const std::vector<PartFile>& parts);

// Writes the index if there are several parts, and removes files of an earlier save under this stem. Rank 0 calls it
// after all ranks have written their parts.
Status finish_parts(const std::string& folder, const std::string& stem,
                    const std::vector<PartFile>& parts, Store& store = file_store());

// For tensors that every rank holds: chooses one rank to write each tensor, so that each rank writes about the same
// number of bytes. Returns the indices of the tensors that this rank writes. `bytes`: the size of each tensor.
std::vector<size_t> divided_tensors(std::span<const int64_t> bytes, const Share& share);

}  // namespace hone
