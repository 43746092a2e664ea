// Stochastic rounding from f32 to bf16: the op round_stochastic (engine/ops/round_stochastic.cc). The bits
// do not depend on the instruction set, nor on how a tensor is cut into parts.
#pragma once

#include <cstdint>

#include "base/core/philox.h"
#include "base/core/threads.h"

namespace hone::cpu {

// Selects the random numbers: the tensor's key, and the number of the optimizer step, counted from 1.
struct StochasticRounding {
  DropoutKey key;
  int64_t step = 1;
};

// Rounds elements [first, first + count) of a tensor; x and y point to the first of them. round_stochastic_range() runs
// on the calling thread, round_stochastic() on all threads of the pool.
void round_stochastic_range(const StochasticRounding& by, int64_t first, int64_t count,
                            const float* x, uint16_t* y);
void round_stochastic(const StochasticRounding& by, int64_t first, int64_t count, const float* x,
                      uint16_t* y, ThreadPool& pool);

}  // namespace hone::cpu
