// Tables of the values of quantized optimizer states: a code k means element k of its table.
#pragma once

#include <array>

namespace hone {

// The 256 values of bitsandbytes' 8-bit codes (its create_dynamic_map), in ascending order: 0, 1, and for each decade
// i = 0 .. 6 the n midpoints of neighbours among n + 1 evenly spaced numbers from 0.1 to 1, times 10^(i - 6). Signed:
// n = 2^i, and each midpoint has both signs. Unsigned: n = 2^(i + 1). Source: T. Dettmers et al., "8-bit Optimizers
// via Block-wise Quantization", 2021.
const std::array<float, 256>& dynamic_map(bool is_signed);

// The 16 values of torchao's 4-bit codes, in ascending order. Signed: 0, 1 and the midpoints of the signed
// dynamic_map() with the decades i = 0 .. 2, times 10^(i - 2). Unsigned: k / 16 for k = 1 .. 16; 0 is left out because
// Adam divides by the second moment (B. Li et al., "Memory Efficient Optimizers with 4-bit States", arXiv
// 2309.01507).
struct FourBitMap {
  float values[16];
  // above[k] is the smallest f32 number that gets a code above k. A number midway between two values gets the
  // larger code.
  float above[15];
};

const FourBitMap& four_bit_map(bool is_signed);

}  // namespace hone
