#include "engine/backends/cpu/kernels/norms.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(void, norm, (const Norm& n, ThreadPool& pool), (n, pool))
HONE_CPU_DISPATCH(int64_t, norm_backward_workspace_bytes, (int64_t rows, int64_t columns),
                  (rows, columns))
HONE_CPU_DISPATCH(void, norm_backward, (const NormBackward& n, void* workspace, ThreadPool& pool),
                  (n, workspace, pool))
}  // namespace hone::cpu
