#include "engine/backends/cpu/kernels/elementwise.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(void, unary,
                  (Unary op, int64_t count, const float* x, float* y, ThreadPool& pool),
                  (op, count, x, y, pool))
HONE_CPU_DISPATCH(void, unary_backward,
                  (Unary op, int64_t count, const float* x, const float* dy, float* dx,
                   ThreadPool& pool),
                  (op, count, x, dy, dx, pool))
HONE_CPU_DISPATCH(void, gate, (const Gate& g, ThreadPool& pool), (g, pool))
HONE_CPU_DISPATCH(void, gate_backward, (const GateBackward& g, ThreadPool& pool), (g, pool))
HONE_CPU_DISPATCH(void, add,
                  (int64_t count, const float* a, const float* b, float* y, ThreadPool& pool),
                  (count, a, b, y, pool))
HONE_CPU_DISPATCH(void, mul,
                  (int64_t count, const float* a, const float* b, float* y, ThreadPool& pool),
                  (count, a, b, y, pool))
HONE_CPU_DISPATCH(void, scale,
                  (int64_t count, float factor, const float* x, float* y, ThreadPool& pool),
                  (count, factor, x, y, pool))
HONE_CPU_DISPATCH(void, axpy,
                  (int64_t count, float factor, const float* x, float* y, ThreadPool& pool),
                  (count, factor, x, y, pool))
HONE_CPU_DISPATCH(void, add_bias,
                  (int64_t rows, int64_t columns, const float* x, const float* bias, float* y,
                   ThreadPool& pool),
                  (rows, columns, x, bias, y, pool))
HONE_CPU_DISPATCH(void, fill, (int64_t count, float value, float* y, ThreadPool& pool),
                  (count, value, y, pool))
HONE_CPU_DISPATCH(void, column_sum,
                  (int64_t rows, int64_t columns, const float* x, int64_t ldx, bool accumulate,
                   float* out, ThreadPool& pool),
                  (rows, columns, x, ldx, accumulate, out, pool))
HONE_CPU_DISPATCH(void, dropout, (const Dropout& d, ThreadPool& pool), (d, pool))
}  // namespace hone::cpu
