#include "engine/backends/cpu/gemm.h"

#include "engine/backends/cpu/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(int64_t, gemm_f32_workspace_bytes, (const Gemm& g, int threads), (g, threads))
HONE_CPU_DISPATCH(void, gemm_f32, (const Gemm& g, void* workspace, ThreadPool& pool),
                  (g, workspace, pool))
HONE_CPU_DISPATCH_BF16(int64_t, gemm_bf16_workspace_bytes, (const Gemm& g, int threads),
                       (g, threads))
HONE_CPU_DISPATCH_BF16(void, gemm_bf16, (const Gemm& g, void* workspace, ThreadPool& pool),
                       (g, workspace, pool))
HONE_CPU_DISPATCH(int64_t, pack_b_bytes, (int64_t k, int64_t n), (k, n))
HONE_CPU_DISPATCH(void, pack_b,
                  (int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed,
                   ThreadPool& pool),
                  (k, n, b, ldb, trans_b, packed, pool))

int64_t gemm_workspace_bytes(const Gemm& g, int threads) {
  return g.bf16 ? gemm_bf16_workspace_bytes(g, threads) : gemm_f32_workspace_bytes(g, threads);
}

void gemm(const Gemm& g, void* workspace, ThreadPool& pool) {
  if (g.bf16 && g.m > 0 && g.n > 0 && g.k > 0)
    gemm_bf16(g, workspace, pool);
  else
    gemm_f32(g, workspace, pool);
}
}  // namespace hone::cpu
