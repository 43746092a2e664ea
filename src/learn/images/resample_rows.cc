#include "learn/images/resample_rows.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(void, resample_row,
                  (const uint8_t* in, uint8_t* out, int64_t outputs, const int32_t* first,
                   const int32_t* count, const int32_t* weights, int64_t most),
                  (in, out, outputs, first, count, weights, most))
HONE_CPU_DISPATCH(void, resample_column,
                  (const uint8_t* in, int64_t stride, uint8_t* out, int64_t bytes, int64_t count,
                   const int32_t* weights),
                  (in, stride, out, bytes, count, weights))
}  // namespace hone::cpu
