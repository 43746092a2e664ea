// Conversions between f32 and two bytes. Results do not depend on the thread count or the
// instruction set, NaNs' payloads aside.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

enum class Half : int { bf16, f16 };

// y[i] = x[i], rounded to the nearest, ties to even; subnormals are kept; values that are too large
// become inf, or with `saturate` the largest finite value.
void narrow(Half type, bool saturate, int64_t count, const float* x, uint16_t* y, ThreadPool& pool);
// y[i] = x[i], exactly.
void widen(Half type, int64_t count, const uint16_t* x, float* y, ThreadPool& pool);

}  // namespace hone::cpu
