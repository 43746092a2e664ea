// ggml's element formats: their sizes, and how blocks become f32. Values are bit-equal to
// ggml's dequantize_row_* and to gguf-py's quants.dequantize. The formulas are next to the code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hone {

struct GgmlFormat {
  uint32_t id;            // as in the file
  std::string_view name;  // "Q4_K"
  int64_t block;          // elements of one block; rows are whole blocks
  int64_t bytes;          // bytes of one block
  void (*decode)(const std::byte* in, int64_t blocks,
                 float* out);  // nullptr: hone cannot decode it
  // nullptr: hone cannot write it. Bits are those of gguf-py's quants.quantize.
  void (*encode)(const float* in, int64_t blocks, std::byte* out) = nullptr;
};

// nullptr if ggml has no such format. Small letters name it too, the form of the engine's schemes.
const GgmlFormat* ggml_format(uint32_t id);
const GgmlFormat* ggml_format(std::string_view name);

}  // namespace hone
