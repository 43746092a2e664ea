// A model in several GGUF files, as llama.cpp's gguf-split writes it: x-00001-of-00003.gguf, ...
// The first has the metadata of the model; each has split.no, split.count and split.tensors.count.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "learn/checkpoint/gguf/gguf.h"

namespace hone {

struct OpenGguf {
  std::unique_ptr<ByteFile> file;  // all parts, one after the other
  GgufFile content;                // with the tensors of all parts; offsets are those in `file`
};

// Opens a model by its only file, or by any of its parts. H2208: a part is missing, or parts do not
// belong together; errors of read_gguf.
Result<OpenGguf> open_gguf(const std::string& path);

// Keeps one file of each model: removes its further parts from these names of GGUF files.
std::vector<std::string> first_gguf_parts(const std::vector<std::string>& names);

}  // namespace hone
