// Tables of the values of quantized optimizer states: code k means element k of the table.
#pragma once

#include <array>

namespace hone {

// The 256 values of bitsandbytes' 8-bit codes (its create_dynamic_map), in ascending order: 0, 1, and n values for each
// decade i = 0 .. 6. For a decade, take n + 1 evenly spaced numbers from 0.1 to 1; the values are the n midpoints of
// neighbours, times 10^(i - 6). Signed: n = 2^i, and each of the n values also appears with a minus sign.
// Unsigned: n = 2^(i + 1). Source: T. Dettmers et al., "8-bit Optimizers via Block-wise Quantization", 2021.
const std::array<float, 256>& dynamic_map(bool is_signed);

// The 16 values of torchao's 4-bit codes, in ascending order. Signed: the values of dynamic_map(true), but only with
// the decades i = 0 .. 2 and the factor 10^(i - 2). Unsigned: k / 16 for k = 1 .. 16. There is no unsigned 0 because
// Adam divides by the second moment (B. Li et al., "Memory Efficient Optimizers with 4-bit States", arXiv 2309.01507).
struct FourBitMap {
  float values[16];
  // above[k] is the smallest f32 number that gets a code above k. A number midway between two values gets the
  // larger code.
  float above[15];
};

const FourBitMap& four_bit_map(bool is_signed);

}  // namespace hone
