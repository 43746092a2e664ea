#include "engine/backends/cpu/kernels/causal_conv.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
int64_t causal_conv_workspace_bytes(const CausalConv& a) {
  return 2 * a.taps * a.channels * static_cast<int64_t>(sizeof(float));
}
HONE_CPU_DISPATCH(void, causal_conv, (const CausalConv& a, void* workspace, ThreadPool& pool),
                  (a, workspace, pool))
HONE_CPU_DISPATCH(void, causal_conv_backward,
                  (const CausalConvBackward& b, void* workspace, ThreadPool& pool),
                  (b, workspace, pool))
}  // namespace hone::cpu
