#include "engine/backends/cpu/kernels/disentangled.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(int64_t, disentangled_workspace_bytes, (const Disentangled& a, int threads),
                  (a, threads))
HONE_CPU_DISPATCH(void, disentangled, (const Disentangled& a, void* workspace, ThreadPool& pool),
                  (a, workspace, pool))
HONE_CPU_DISPATCH(int64_t, disentangled_backward_workspace_bytes,
                  (const Disentangled& a, int threads), (a, threads))
HONE_CPU_DISPATCH(void, disentangled_backward,
                  (const DisentangledBackward& b, void* workspace, ThreadPool& pool),
                  (b, workspace, pool))
}  // namespace hone::cpu
