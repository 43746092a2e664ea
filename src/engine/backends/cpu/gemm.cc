#include "engine/backends/cpu/gemm.h"

#include "engine/backends/cpu/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(int64_t, gemm_workspace_bytes, (const Gemm& g, int threads), (g, threads))
HONE_CPU_DISPATCH(void, gemm, (const Gemm& g, void* workspace, ThreadPool& pool),
                  (g, workspace, pool))
HONE_CPU_DISPATCH(int64_t, pack_b_bytes, (int64_t k, int64_t n), (k, n))
HONE_CPU_DISPATCH(void, pack_b,
                  (int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed,
                   ThreadPool& pool),
                  (k, n, b, ldb, trans_b, packed, pool))
}  // namespace hone::cpu
