// Stochastic rounding from f32 to bf16, in blocks of 128 elements. A block takes the random words of sixteen
// Philox counters: 64 words, whose low halves are for the first 64 elements and whose high halves are for the other 64.
#include "engine/backends/cpu/isa/philox.simd.h"
#include "engine/backends/cpu/kernels/round_stochastic.h"

namespace hone::cpu::HONE_ISA {
namespace {

constexpr int64_t kRoundedBlock = 128, kRoundedWords = 64;

HONE_INLINE uint16_t rounded(float x, uint32_t random) {
  uint32_t bits;
  memcpy(&bits, &x, sizeof bits);
  const bool nan = (bits & 0x7fffffff) > 0x7f800000;
  return static_cast<uint16_t>(nan ? bits >> 16 | 0x40 : (bits + random) >> 16);
}

HONE_INLINE void words_of_block(const StochasticRounding& by, uint64_t block, uint32_t* words) {
  const uint64_t counter = block * 16;
  const auto step = static_cast<uint64_t>(by.step);
  for (int lane = 0; lane < 16; lane += W) {
    const U c[4] = {set1(static_cast<uint32_t>(counter) + static_cast<uint32_t>(lane)) +
                        reinterpret_cast<U>(lane_index()),
                    set1(static_cast<uint32_t>(counter >> 32)), set1(static_cast<uint32_t>(step)),
                    set1(static_cast<uint32_t>(step >> 32))};
    U out[4];
    philox(by.key, c, out);
    for (int w = 0; w < 4; ++w) memcpy(words + 16 * w + lane, &out[w], sizeof out[w]);
  }
}

}  // namespace

void round_stochastic_range(const StochasticRounding& by, int64_t first, int64_t count,
                            const float* x, uint16_t* y) {
  alignas(64) uint32_t words[kRoundedWords];
  const int64_t end = first + count;
  for (int64_t block = first / kRoundedBlock; block * kRoundedBlock < end; ++block) {
    words_of_block(by, static_cast<uint64_t>(block), words);
    for (int half = 0; half < 2; ++half) {
      const int64_t begin = block * kRoundedBlock + half * kRoundedWords;
      const int64_t from = max_of(begin, first), to = min_of(begin + kRoundedWords, end);
      const int shift = 16 * half;
      for (int64_t n = from; n < to; ++n)
        y[n - first] = rounded(x[n - first], words[n - begin] >> shift & 0xffff);
    }
  }
}

}  // namespace hone::cpu::HONE_ISA
