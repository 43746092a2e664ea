// Conversions between f32 and bf16 or f16. Except for the payloads of NaNs, results do not depend on the
// number of threads or the instruction set.
#pragma once

#include <cstdint>

#include "base/core/threads.h"

namespace hone::cpu {

enum class Half : int { bf16, f16 };

// Rounds x to the nearest number of `type`, ties to even. Subnormal numbers are kept. Values that are too large become
// inf; with `saturate`, values that are too large but finite become the largest finite number. y receives the bits.
void narrow(Half type, bool saturate, int64_t count, const float* x, uint16_t* y, ThreadPool& pool);
// Converts bits of `type` to f32, exactly.
void widen(Half type, int64_t count, const uint16_t* x, float* y, ThreadPool& pool);

}  // namespace hone::cpu
