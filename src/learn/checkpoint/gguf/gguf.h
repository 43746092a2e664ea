// Reading GGUF: metadata and where the tensors are. Format and validity rule: docs/formats/gguf.md.
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

// A value of the metadata. Integers of every width are int64_t (larger ones are refused), floats
// double.
using GgufValue = std::variant<bool, int64_t, double, std::string, std::vector<bool>,
                               std::vector<int64_t>, std::vector<double>, std::vector<std::string>>;

struct GgufTensor {
  std::string name;            // ggml's name: "blk.0.attn_q.weight"
  std::vector<int64_t> shape;  // outermost first, as NumPy (the file has the innermost first)
  const GgmlFormat* format;
  int64_t offset;  // from the start of the file
  int64_t bytes;
};

struct GgufFile {
  uint32_t version = 0;
  int64_t alignment = 32;
  std::map<std::string, GgufValue, std::less<>> metadata;
  std::vector<GgufTensor> tensors;

  // The value under `key` when it is there and of type T.
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

// Parses and checks everything but the tensors' bytes. H2208 (damaged: names the file, the key or
// tensor, and what is wrong), H2209 (a version or an element format that hone does not know).
Result<GgufFile> read_gguf(const ByteFile& file);

}  // namespace hone
