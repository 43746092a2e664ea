// Reading safetensors. Format and validity rule: docs/formats/safetensors.md.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // by offset; `offset` counts from the start of the file
  std::map<std::string, std::string> metadata;
};

// Parses and checks the header against the file's size. H2203 names the file, the tensor and what
// is wrong: size of the header, JSON, duplicate key, dtype, shape, size, hole, overlap, trailing
// bytes.
Result<SafetensorsHeader> read_safetensors_header(const ByteFile& file);

Result<std::unique_ptr<WeightSource>> open_safetensors(const std::string& path,
                                                       Store& store = file_store());
// model.safetensors.index.json and its shards in the same folder. H2204: the index and the shards
// do not fit together.
Result<std::unique_ptr<WeightSource>> open_safetensors_index(const std::string& path,
                                                             Store& store = file_store());

}  // namespace hone
