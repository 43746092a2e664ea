// Opens a model that is divided into several GGUF files by llama.cpp's gguf-split: x-00001-of-00003.gguf, ... The
// first file has the model's metadata. Each file has the keys split.no, split.count and split.tensors.count.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/gguf/gguf.h"

namespace hone {

struct OpenGguf {
  std::unique_ptr<ByteFile> file;  // the bytes of all parts, one part after the other
  GgufFile content;                // metadata of the first part, tensors of all; offsets in `file`
};

// Opens a model. `path`: its only file, or any of its parts. H2208: a part is missing, or the parts do not belong
// together. Errors of read_gguf() and open_byte_file().
Result<OpenGguf> open_gguf(const std::string& path);

// The names in `names` that end in .gguf, without the second and further parts of a model: one name for each model.
std::vector<std::string> first_gguf_parts(const std::vector<std::string>& names);

}  // namespace hone
