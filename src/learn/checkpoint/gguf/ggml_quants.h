// The element formats of ggml, the tensor library of llama.cpp: their sizes, and their conversion to f32 and back.
// Decoded values are bit-equal to ggml's dequantize_row_* and to gguf-py's quants.dequantize. The formulas are next to
// the code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hone {

struct GgmlFormat {
  uint32_t id;            // ggml's number of the format, used in GGUF files
  std::string_view name;  // "Q4_K"
  int64_t block;          // number of elements in a block; a row consists of whole blocks
  int64_t bytes;          // number of bytes of a block
  // Converts `blocks` blocks to f32. nullptr: hone cannot decode the format.
  void (*decode)(const std::byte* in, int64_t blocks, float* out);
  // Converts f32 to `blocks` blocks, bit-equal to gguf-py's quants.quantize. nullptr: hone cannot write the format.
  void (*encode)(const float* in, int64_t blocks, std::byte* out) = nullptr;
};

// The format of this number or name; nullptr: ggml has none. The name may be in lower case ("q4_k"), as in the
// engine's block schemes.
const GgmlFormat* ggml_format(uint32_t id);
const GgmlFormat* ggml_format(std::string_view name);

}  // namespace hone
