#include "engine/backends/cpu/kernels/rows.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(int64_t, rope_workspace_bytes, (int64_t rotary, int threads), (rotary, threads))
HONE_CPU_DISPATCH(void, rope, (const Rope& r, void* workspace, ThreadPool& pool),
                  (r, workspace, pool))
HONE_CPU_DISPATCH(void, embedding, (const Embedding& e, ThreadPool& pool), (e, pool))
HONE_CPU_DISPATCH(int64_t, embedding_gradient_workspace_bytes, (int64_t tokens), (tokens))
HONE_CPU_DISPATCH(void, embedding_gradient,
                  (int64_t tokens, int64_t columns, int64_t vocabulary, const int32_t* ids,
                   const float* dy, float* dtable, void* workspace, ThreadPool& pool),
                  (tokens, columns, vocabulary, ids, dy, dtable, workspace, pool))
HONE_CPU_DISPATCH(void, cap,
                  (float softcap, int64_t count, float* x, float* slope, ThreadPool& pool),
                  (softcap, count, x, slope, pool))
HONE_CPU_DISPATCH(void, cross_entropy, (const CrossEntropy& c, ThreadPool& pool), (c, pool))
}  // namespace hone::cpu
