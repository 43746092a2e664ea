#include "engine/backends/cpu/kernels/attention.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(int64_t, attention_workspace_bytes, (const Attention& a, int threads),
                  (a, threads))
HONE_CPU_DISPATCH(void, attention, (const Attention& a, void* workspace, ThreadPool& pool),
                  (a, workspace, pool))
HONE_CPU_DISPATCH(int64_t, attention_backward_workspace_bytes, (const Attention& a, int threads),
                  (a, threads))
HONE_CPU_DISPATCH(void, attention_backward,
                  (const AttentionBackward& b, void* workspace, ThreadPool& pool),
                  (b, workspace, pool))
HONE_CPU_DISPATCH(int64_t, paged_attention_workspace_bytes, (const PagedAttention& a, int threads),
                  (a, threads))
HONE_CPU_DISPATCH(void, paged_attention,
                  (const PagedAttention& a, void* workspace, ThreadPool& pool),
                  (a, workspace, pool))
}  // namespace hone::cpu
