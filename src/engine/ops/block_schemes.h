// Quantization schemes of a matrix [rows, columns]: a payload u8[rows, row_bytes(columns)], and scales, which are
// either inside the payload or in a tensor of their own.
//
//   nf4, fp4  the 4-bit formats of bitsandbytes: two 4-bit codes per byte, the first in the high half; x =
//             code[c] * scale. The matrix, read row by row, has one scale for each 64 elements. NF4 is the
//             code of QLoRA (arXiv 2305.14314); FP4 has a sign bit, two bits of exponent, one bit of fraction.
//   dynamic4, linear4  torchao's 4-bit optimizer states (base/core/dynamic_map.h): laid out as nf4, with one scale
//             for each 128 elements. dynamic4 has the signed map, linear4 the unsigned one.
//   int8      the weights of LLM.int8() (arXiv 2208.07339): x = q * scale / 127, q an i8, one scale for each row
//   q4_0, q4_1, q5_0, q5_1, q8_0, q2_k to q6_k  the blocks of GGUF files in ggml's layout, with their scales
//             inside. A row is whole blocks of 32 elements, or (_k) of 256 elements, whose groups have scales of 4
//             to 8 bits. Layouts and formulas: docs/formats/gguf.md. Each x is rounded at most once, in its
//             sum with a minimum, so f32 arithmetic in any order gives ggml's bits.
//   mxfp4     the blocks of OCP Microscaling Formats 1.0 in ggml's layout: an exponent and 32 elements of type E2M1
//   f16, bf16  matrices of GGUF files without blocks: a block is one element
//
// Schemes without scales inside have scales f32[scale_count]. The scales of nf4 and fp4 may be quantized
// themselves, u8[scale_count]: scale = dynamic_map(true)[u] * nested + offset, with one f32 `nested` for each 256
// scales (double quantization, section 3 of QLoRA). dynamic_map(true) is the signed code of arXiv 2110.02861.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

struct BlockScheme {
  std::string name;
  int64_t block = 0;  // number of elements of a block of the payload
  int64_t bytes = 0;  // number of bytes of a block
  // Schemes with scales outside the payload: the number of elements that share a scale; 0: the elements of a row do.
  int64_t scaled = 0;
  const float* code = nullptr;  // the 16 values of a 4-bit code; null: the scheme has no such code
  // A block with scales inside holds `halves` f16 numbers (scales, minima) one after another, from its byte
  // `halves_at` on.
  int64_t halves = 0, halves_at = 0;
  // True: the first byte of a block is the exponent e of the block's scale 2^(e - 127).
  bool has_exponent = false;

  int64_t row_bytes(int64_t columns) const { return columns / block * bytes; }
  int64_t columns(int64_t row_bytes) const { return row_bytes / bytes * block; }
  // Whether a row of this number of columns is one or more whole blocks.
  bool holds(int64_t columns) const { return columns > 0 && columns % block == 0; }
  bool scales_inside() const { return halves > 0 || has_exponent; }
  // The length of the tensor of scales; 0: the scales are inside.
  int64_t scale_count(int64_t rows, int64_t columns) const {
    if (scales_inside()) return 0;
    return scaled == 0 ? rows : (rows * columns + scaled - 1) / scaled;
  }
};

inline constexpr int64_t kNestedBlock = 256;  // quantized scales that share one `nested`

const std::vector<BlockScheme>& block_schemes();
const BlockScheme* block_scheme(std::string_view name);  // null: no scheme has the name
std::vector<std::string> block_scheme_names();

}  // namespace hone
