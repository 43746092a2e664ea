// The parts of a checkpoint that each of several ranks writes. No rank waits for another one while it
// writes; rank 0 collects the names and hashes.
#pragma once

#include <string>
#include <vector>

#include "base/core/json.h"
#include "engine/graph/shard.h"
#include "learn/checkpoint/safetensors/safetensors_writer.h"

namespace hone {

// A safetensors file of one rank.
struct PartFile {
  WrittenFile file;
  std::vector<std::string> tensors;
  int64_t elements = 0, bytes = 0;  // of the tensors

  Json to_json() const;
  static PartFile from_json(const Json& json);
};

// Writes these tensors into <folder>/<stem>-00002-of-00003.safetensors, for the second of three ranks; for
// one that is alone <stem>.safetensors.
Result<PartFile> write_part(const std::string& folder, const std::string& stem, const Share& share,
                            std::span<const TensorData> tensors, Store& store = file_store());
// The text of <stem>.safetensors.index.json, in Transformers' form.
std::string index_of_parts(const std::vector<PartFile>& parts);

// After each rank's write_part(): writes the index if there are several files, and removes files of an
// earlier save.
Status finish_parts(const std::string& folder, const std::string& stem,
                    const std::vector<PartFile>& parts, Store& store = file_store());

// Divides tensors that every rank holds, so that each rank writes about as many bytes: indices of those
// of this rank. `bytes`: of each tensor.
std::vector<size_t> divided_tensors(std::span<const int64_t> bytes, const Share& share);

}  // namespace hone
