#include "engine/backends/cpu/kernels/images.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(int64_t, batch_norm_workspace_bytes, (int64_t rows, int64_t columns),
                  (rows, columns))
HONE_CPU_DISPATCH(void, batch_norm, (const BatchNorm& n, void* workspace, ThreadPool& pool),
                  (n, workspace, pool))
HONE_CPU_DISPATCH(int64_t, batch_norm_backward_workspace_bytes, (int64_t rows, int64_t columns),
                  (rows, columns))
HONE_CPU_DISPATCH(void, batch_norm_backward,
                  (const BatchNormBackward& n, void* workspace, ThreadPool& pool),
                  (n, workspace, pool))
HONE_CPU_DISPATCH(void, affine_columns,
                  (int64_t rows, int64_t columns, const float* x, const float* scale,
                   const float* shift, float* y, ThreadPool& pool),
                  (rows, columns, x, scale, shift, y, pool))
HONE_CPU_DISPATCH(void, scale_blocks,
                  (int64_t blocks, int64_t size, const float* x, const float* scale, float* y,
                   ThreadPool& pool),
                  (blocks, size, x, scale, y, pool))
HONE_CPU_DISPATCH(void, max_pool, (const Windows2d& p, const float* x, float* y, ThreadPool& pool),
                  (p, x, y, pool))
HONE_CPU_DISPATCH(void, max_pool_backward,
                  (const Windows2d& p, const float* x, const float* y, const float* dy, float* dx,
                   ThreadPool& pool),
                  (p, x, y, dy, dx, pool))
HONE_CPU_DISPATCH(void, channel_conv,
                  (const Windows2d& p, const float* x, const float* w, const float* bias, float* y,
                   ThreadPool& pool),
                  (p, x, w, bias, y, pool))
HONE_CPU_DISPATCH(void, channel_conv_input_gradient,
                  (const Windows2d& p, const float* dy, const float* w, bool onto, float* dx,
                   ThreadPool& pool),
                  (p, dy, w, onto, dx, pool))
HONE_CPU_DISPATCH(int64_t, channel_conv_workspace_bytes, (const Windows2d& p), (p))
HONE_CPU_DISPATCH(void, channel_conv_weight_gradient,
                  (const Windows2d& p, const float* dy, const float* x, float* dw, void* workspace,
                   ThreadPool& pool),
                  (p, dy, x, dw, workspace, pool))
}  // namespace hone::cpu
