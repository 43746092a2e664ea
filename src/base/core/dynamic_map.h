// The 256 numbers of bitsandbytes' 8-bit codes, ascending (create_dynamic_map): 0, 1, and decades of means
// of neighbours among n + 1 evenly spaced numbers from 0.1 to 1, times 10^(i - 6) for i = 0 .. 6. Signed: n = 2^i
// and each number with both signs; else n = 2^(i + 1). T. Dettmers et al., "8-bit Optimizers via Block-wise
// Quantization", 2021.
#pragma once

#include <array>

namespace hone {

const std::array<float, 256>& dynamic_map(bool is_signed);

// The 16 numbers of torchao's 4-bit codes, ascending. Signed: as above, with i - 2 for i = 0 .. 2. Else k / 16
// for k = 1 .. 16, without 0: the second moment is divided by (B. Li et al., "Memory Efficient Optimizers with
// 4-bit States", arXiv 2309.01507).
struct FourBitMap {
  float values[16];
  float above
      [15];  // the least number whose code is larger than k: two that are equally near give the larger code
};

const FourBitMap& four_bit_map(bool is_signed);

}  // namespace hone
