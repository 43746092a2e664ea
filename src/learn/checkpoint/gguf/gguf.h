// Reads the header of a GGUF file (llama.cpp's format): its metadata, and the name, shape and place of each tensor.
// docs/formats/gguf.md describes the format, and which files are valid.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "learn/checkpoint/gguf/ggml_quants.h"
#include "learn/checkpoint/safetensors/byte_file.h"

namespace hone {

// A value of the metadata. Integers of every type become int64_t, floats become double. A list holds elements of one
// type. An integer that int64_t cannot hold is H2208.
using GgufValue = std::variant<bool, int64_t, double, std::string, std::vector<bool>,
                               std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

struct GgufTensor {
  std::string name;            // llama.cpp's name: "blk.0.attn_q.weight"
  std::vector<int64_t> shape;  // outermost dimension first, as in NumPy; the file has the reverse
  const GgmlFormat* format;    // element format; not null, static
  int64_t offset;              // of the first byte, from the start of the file
  int64_t bytes;               // size in the file
};

struct GgufFile {
  uint32_t version = 0;    // of the format: 2 or 3
  int64_t alignment = 32;  // of tensors, in bytes: general.alignment
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;  // in the order of the file

  // The metadata value under `key`. nullptr: there is no such key, or its value is not a T.
  template <class T>
  const T* get(std::string_view key) const {
    const auto it = metadata.find(key);
    return it == metadata.end() ? nullptr : std::get_if<T>(&it->second);
  }
  bool has_tensor(std::string_view name) const {
    return std::any_of(tensors.begin(), tensors.end(),
                       [&](const GgufTensor& t) { return t.name == name; });
  }
};

// Parses and checks the whole header; does not read the tensors' elements. H2208: the file is damaged; the message
// names the file, the key or tensor, and the fault. H2209: the file's version is not 2 or 3, the file is big-endian, or
// a tensor has an element format that ggml does not have.
Result<GgufFile> read_gguf(const ByteFile& file);

}  // namespace hone
