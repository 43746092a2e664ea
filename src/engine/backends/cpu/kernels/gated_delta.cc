#include "engine/backends/cpu/kernels/gated_delta.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(int64_t, gated_delta_workspace_bytes, (const GatedDelta& a, int threads),
                  (a, threads))
HONE_CPU_DISPATCH(void, gated_delta, (const GatedDelta& a, void* workspace, ThreadPool& pool),
                  (a, workspace, pool))
HONE_CPU_DISPATCH(int64_t, gated_delta_backward_workspace_bytes, (const GatedDelta& a, int threads),
                  (a, threads))
HONE_CPU_DISPATCH(void, gated_delta_backward,
                  (const GatedDeltaBackward& b, void* workspace, ThreadPool& pool),
                  (b, workspace, pool))
}  // namespace hone::cpu
