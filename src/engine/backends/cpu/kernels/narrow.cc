#include "engine/backends/cpu/kernels/narrow.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(void, narrow,
                  (Half type, bool saturate, int64_t count, const float* x, uint16_t* y,
                   ThreadPool& pool),
                  (type, saturate, count, x, y, pool))
HONE_CPU_DISPATCH(void, widen,
                  (Half type, int64_t count, const uint16_t* x, float* y, ThreadPool& pool),
                  (type, count, x, y, pool))
}  // namespace hone::cpu
