#include "engine/backends/cpu/kernels/round_stochastic.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {

HONE_CPU_DISPATCH(void, round_stochastic_range,
                  (const StochasticRounding& by, int64_t first, int64_t count, const float* x,
                   uint16_t* y),
                  (by, first, count, x, y))

void round_stochastic(const StochasticRounding& by, int64_t first, int64_t count, const float* x,
                      uint16_t* y, ThreadPool& pool) {
  constexpr int64_t kPart = 4096;  // elements
  pool.parallel_for((count + kPart - 1) / kPart, [&](int64_t begin, int64_t end, int) {
    const int64_t from = begin * kPart, to = std::min(end * kPart, count);
    round_stochastic_range(by, first + from, to - from, x + from, y + from);
  });
}

}  // namespace hone::cpu
