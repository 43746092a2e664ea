#include "engine/backends/cpu/gemm/gemm.h"

#include "engine/backends/cpu/isa/isa.h"

namespace hone::cpu {
HONE_CPU_DISPATCH(int64_t, gemm_f32_workspace_bytes, (const Gemm& g, int threads), (g, threads))
HONE_CPU_DISPATCH(void, gemm_f32, (const Gemm& g, void* workspace, ThreadPool& pool),
                  (g, workspace, pool))
HONE_CPU_DISPATCH_BF16(int64_t, gemm_bf16_workspace_bytes, (const Gemm& g, int threads),
                       (g, threads))
HONE_CPU_DISPATCH_BF16(void, gemm_bf16, (const Gemm& g, void* workspace, ThreadPool& pool),
                       (g, workspace, pool))
HONE_CPU_DISPATCH(int64_t, gemm_f16_workspace_bytes, (const Gemm& g, int threads), (g, threads))
HONE_CPU_DISPATCH(void, gemm_f16, (const Gemm& g, void* workspace, ThreadPool& pool),
                  (g, workspace, pool))
HONE_CPU_DISPATCH(int64_t, pack_b_bytes, (int64_t k, int64_t n), (k, n))
HONE_CPU_DISPATCH(void, pack_b,
                  (int64_t k, int64_t n, const float* b, int64_t ldb, bool trans_b, float* packed,
                   ThreadPool& pool),
                  (k, n, b, ldb, trans_b, packed, pool))

HONE_CPU_DISPATCH(void, widen_blocks,
                  (const Blocks& b, const void* payload, int64_t rows, float* out,
                   ThreadPool& pool),
                  (b, payload, rows, out, pool))

HONE_CPU_DISPATCH(void, widen_part,
                  (const Blocks& b, const void* payload, int64_t row, int64_t rows, int64_t column,
                   int64_t columns, float* out),
                  (b, payload, row, rows, column, columns, out))

HONE_CPU_DISPATCH(void, widen_rows,
                  (const Blocks& b, const void* payload, int64_t rows, const int32_t* ids,
                   int64_t count, float* out, ThreadPool& pool),
                  (b, payload, rows, ids, count, out, pool))

HONE_CPU_DISPATCH(int64_t, gemm_columns_f32_bytes, (const Gemm& g), (g))
HONE_CPU_DISPATCH(void, gemm_columns_f32,
                  (const Gemm& g, int64_t begin, int64_t end, void* workspace),
                  (g, begin, end, workspace))
HONE_CPU_DISPATCH_BF16(int64_t, gemm_columns_bf16_bytes, (const Gemm& g), (g))
HONE_CPU_DISPATCH_BF16(void, gemm_columns_bf16,
                       (const Gemm& g, int64_t begin, int64_t end, void* workspace),
                       (g, begin, end, workspace))

#if defined(__x86_64__)
namespace amx {
int64_t gemm_columns_split_bytes(const Gemm& g);
void gemm_columns_split(const Gemm& g, int64_t begin, int64_t end, void* workspace);
int64_t gemm_split_workspace_bytes(const Gemm& g, int threads);
void gemm_split(const Gemm& g, void* workspace, ThreadPool& pool);
}  // namespace amx
#endif

namespace {

// Few rows do not repay packing B in parts; narrow weights need no parts, those in blocks do.
bool splits(const Gemm& g) {
  return isa() == Isa::amx && !g.bf16 && !g.f16 &&
         (g.b_type == Element::f32 || g.b_type == Element::blocks) && g.packed_b == nullptr &&
         (g.rows_like > 0 ? g.rows_like : g.m) >= kGemmSplitRows;
}

}  // namespace

GemmSums gemm_sums(const Gemm& g) {
  if (g.bf16) return {"bf16", kGemmBf16BlockK};
  if (g.f16) return {"f16", kGemmBlockK};
  if (splits(g)) return {"bf16x3", kGemmBlockK};
  if (g.b_type == Element::i8) return {"i15", kGemmBlockK};
  return {"", kGemmBlockK};
}

int64_t gemm_workspace_bytes(const Gemm& g, int threads) {
#if defined(__x86_64__)
  if (splits(g)) return amx::gemm_split_workspace_bytes(g, threads);
#endif
  if (g.f16) return gemm_f16_workspace_bytes(g, threads);
  return g.bf16 ? gemm_bf16_workspace_bytes(g, threads) : gemm_f32_workspace_bytes(g, threads);
}

void gemm(const Gemm& g, void* workspace, ThreadPool& pool) {
  if (g.m <= 0 || g.n <= 0 || g.k <= 0) return gemm_f32(g, workspace, pool);
#if defined(__x86_64__)
  if (splits(g)) return amx::gemm_split(g, workspace, pool);
#endif
  if (g.bf16)
    gemm_bf16(g, workspace, pool);
  else if (g.f16)
    gemm_f16(g, workspace, pool);
  else
    gemm_f32(g, workspace, pool);
}

int64_t gemm_columns_workspace_bytes(const Gemm& g) {
  if (g.m <= 0 || g.n <= 0 || g.k <= 0) return 0;
#if defined(__x86_64__)
  if (splits(g)) return amx::gemm_columns_split_bytes(g);
#endif
  return g.bf16 ? gemm_columns_bf16_bytes(g) : gemm_columns_f32_bytes(g);
}

void gemm_columns(const Gemm& g, int64_t begin, int64_t end, void* workspace) {
  if (g.m <= 0 || g.k <= 0 || begin >= end) return;
#if defined(__x86_64__)
  if (splits(g)) return amx::gemm_columns_split(g, begin, end, workspace);
#endif
  if (g.bf16)
    gemm_columns_bf16(g, begin, end, workspace);
  else
    gemm_columns_f32(g, begin, end, workspace);
}
}  // namespace hone::cpu
