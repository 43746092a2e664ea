// f32 to bf16, rounded at random: the op of that name (engine/ops/round_stochastic.cc). The same
// bits for any instruction set and any cut of a tensor into parts.
#pragma once

#include <cstdint>

#include "base/core/philox.h"
#include "base/core/threads.h"

namespace hone::cpu {

// Names the random numbers of a tensor in a step.
struct StochasticRounding {
  DropoutKey key;
  int64_t step = 1;
};

// y[i] = x[i] of count elements, which are [first, first + count) of their tensor; on the caller's
// thread, and on all of the pool.
void round_stochastic_range(const StochasticRounding& by, int64_t first, int64_t count,
                            const float* x, uint16_t* y);
void round_stochastic(const StochasticRounding& by, int64_t first, int64_t count, const float* x,
                      uint16_t* y, ThreadPool& pool);

}  // namespace hone::cpu
