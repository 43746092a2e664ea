// Reads safetensors files. docs/formats/safetensors.md describes the format, and which files are valid.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

struct SafetensorsHeader {
  std::vector<TensorInfo> tensors;  // by ascending offset; offsets are from the file's start
  std::map<std::string, std::string> metadata;  // __metadata__
};

// Parses the header and checks it against the file's size. H2203: the file is damaged: the size of the header, its
// JSON, a key that appears twice, a dtype, a shape or a size is wrong, or the tensors leave a hole, overlap or do not
// end with the file. The message names the file, the tensor and the fault.
Result<SafetensorsHeader> read_safetensors_header(const ByteFile& file);

// Opens one file. Errors: those of open_byte_file() and read_safetensors_header().
Result<std::unique_ptr<WeightSource>> open_safetensors(const std::string& path,
                                                       Store& store = file_store());
// Opens several files by their index, such as model.safetensors.index.json; the files are in its folder. H2204: the
// index and the files do not fit together. Errors of open_safetensors().
Result<std::unique_ptr<WeightSource>> open_safetensors_index(const std::string& path,
                                                             Store& store = file_store());

}  // namespace hone
