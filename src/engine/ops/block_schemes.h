// Forms of a matrix [rows, columns] in few bits: a payload u8[rows, row_bytes(columns)], and
// scales beside it or inside.
//
//   nf4, fp4  as bitsandbytes keeps them: two codes of 4 bits a byte, the first in the high half;
//             x = code[c] * scale, one scale for each 64 elements of the matrix as one row. NF4 is
//             the code of QLoRA (arXiv 2305.14314), FP4 has a sign, two bits of exponent, one bit.
//   dynamic4, linear4  torchao's 4-bit optimizer states (base/core/dynamic_map.h): the same with one scale for
//             each 128 elements, and the signed map or the other one
//   int8      as LLM.int8() keeps weights (arXiv 2208.07339): x = q * scale / 127, q an i8, one scale
//             for each row
//   q8_0 … q6_k  the blocks of GGUF files, as ggml keeps them, with their scales inside: rows of whole
//             blocks of 32 elements, or of 256 with scales of 4 to 8 bits for groups (K formats). Layouts
//             and formulas: docs/formats/gguf.md. Each x is exact but for one rounding, of its sum
//             with a minimum, so f32 arithmetic of any order has the bits of ggml.
//   mxfp4     the blocks of OCP Microscaling Formats 1.0 as ggml keeps them: an exponent and 32 elements E2M1
//   f16, bf16  matrices of GGUF files that have no blocks: each element is one
//
// Scales of the others f32[scale_count]. Those of nf4 and fp4 may be kept in 8 bits themselves,
// u8[scale_count]: scale = dynamic_map(true)[u] * nested + offset, one `nested` for each 256 of
// them (double quantisation, section 3 of QLoRA; the code is that of arXiv 2110.02861, signed).
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "engine/graph/type.h"

namespace hone {

struct BlockScheme {
  std::string name;
  int64_t block = 0;            // elements of a block of the payload
  int64_t bytes = 0;            // and its bytes
  int64_t scaled = 0;           // elements that share a scale; 0: a row
  const float* code = nullptr;  // f32[16] of a scheme of 4 bits
  // The f16 numbers in a block that holds its scales, one after the other: their count, and the
  // first byte.
  int64_t halves = 0, halves_at = 0;
  // The first byte of a block is the exponent e of its scale 2^(e - 127).
  bool has_exponent = false;

  int64_t row_bytes(int64_t columns) const { return columns / block * bytes; }
  int64_t columns(int64_t row_bytes) const { return row_bytes / bytes * block; }
  bool holds(int64_t columns) const { return columns > 0 && columns % block == 0; }
  bool scales_inside() const { return halves > 0 || has_exponent; }
  int64_t scale_count(int64_t rows, int64_t columns) const {
    if (scales_inside()) return 0;
    return scaled == 0 ? rows : (rows * columns + scaled - 1) / scaled;
  }
};

inline constexpr int64_t kNestedBlock = 256;  // scales that share a second scale

const std::vector<BlockScheme>& block_schemes();
const BlockScheme* block_scheme(std::string_view name);  // nullptr: there is none
std::vector<std::string> block_scheme_names();

}  // namespace hone
