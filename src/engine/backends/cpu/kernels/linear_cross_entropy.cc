#include "engine/backends/cpu/kernels/linear_cross_entropy.h"

#include <algorithm>

#include "engine/backends/cpu/gemm/gemm.h"
#include "engine/backends/cpu/kernels/elementwise.h"
#include "engine/backends/cpu/kernels/narrow.h"
#include "engine/backends/cpu/kernels/rows.h"

namespace hone::cpu {
namespace {

struct Products {
  Gemm logits, dx, dw;
};

Products products(const LinearCrossEntropy& l, int64_t row, int64_t rows, float* logits) {
  const int64_t c = l.columns, v = l.vocabulary;
  const float* x = l.x ? l.x + row * c : nullptr;
  float* dx = l.dx ? l.dx + row * c : nullptr;
  return {{.m = rows,
           .n = v,
           .k = c,
           .a = x,
           .lda = c,
           .b = l.w,
           .ldb = c,
           .trans_b = true,
           .b_type = l.w_type,
           .blocks = l.blocks,
           .c = logits,
           .ldc = v,
           .bf16 = l.bf16,
           .f16 = l.f16,
           .bias = l.logits == Element::f32 ? l.bias : nullptr},
          {.m = rows,
           .n = c,
           .k = v,
           .a = logits,
           .lda = v,
           .b = l.w,
           .ldb = c,
           .b_type = l.w_type,
           .blocks = l.blocks,
           .c = dx,
           .ldc = c,
           .bf16 = l.bf16,
           .f16 = l.f16},
          {.m = v,
           .n = c,
           .k = rows,
           .a = logits,
           .lda = v,
           .trans_a = true,
           .b = x,
           .ldb = c,
           .c = l.dw,
           .ldc = c,
           .accumulate = l.accumulate_dw || row > 0,
           .bf16 = l.bf16,
           .f16 = l.f16}};
}

// Rounds logits in place by way of `kept`, then adds the bias.
void round_logits(const LinearCrossEntropy& l, int64_t rows, float* logits, uint16_t* kept,
                  ThreadPool& pool) {
  const Half type = l.logits == Element::bf16 ? Half::bf16 : Half::f16;
  narrow(type, false, rows * l.vocabulary, logits, kept, pool);
  widen(type, rows * l.vocabulary, kept, logits, pool);
  if (l.bias == nullptr) return;
  pool.parallel_for(rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t row = begin; row < end; ++row)
      for (int64_t v = 0; v < l.vocabulary; ++v) logits[row * l.vocabulary + v] += l.bias[v];
  });
}

bool has_gradient(const LinearCrossEntropy& l) {
  return l.dx != nullptr || l.dw != nullptr || l.dbias != nullptr;
}

int64_t logits_bytes(const LinearCrossEntropy& l) {
  return (4 * linear_cross_entropy_chunk(l.tokens, l.vocabulary) * l.vocabulary + 63) / 64 * 64;
}

int64_t slopes_bytes(const LinearCrossEntropy& l) { return l.softcap > 0 ? logits_bytes(l) : 0; }

}  // namespace

int64_t linear_cross_entropy_chunk(int64_t tokens, int64_t vocabulary) {
  const int64_t chunk = vocabulary <= 65536 ? 1024 : vocabulary <= 131072 ? 512 : 256;
  return std::min(tokens, chunk);
}

int64_t linear_cross_entropy_workspace_bytes(const LinearCrossEntropy& l, int threads) {
  int64_t work = 0;
  const int64_t chunk = linear_cross_entropy_chunk(l.tokens, l.vocabulary);
  for (const int64_t rows : {chunk, chunk > 0 ? l.tokens % chunk : 0}) {
    if (rows == 0) continue;
    const Products p = products(l, 0, rows, nullptr);
    work = std::max(work, gemm_workspace_bytes(p.logits, threads));
    if (l.dx) work = std::max(work, gemm_workspace_bytes(p.dx, threads));
    if (l.dw) work = std::max(work, gemm_workspace_bytes(p.dw, threads));
  }
  if (l.logits != Element::f32) work = std::max(work, 2 * chunk * l.vocabulary);
  return logits_bytes(l) + slopes_bytes(l) + work;
}

void linear_cross_entropy(const LinearCrossEntropy& l, void* workspace, ThreadPool& pool) {
  auto* logits = static_cast<float*>(workspace);
  float* slopes = logits + logits_bytes(l) / 4;  // of the softcap, where there is one
  void* work = static_cast<char*>(workspace) + logits_bytes(l) + slopes_bytes(l);
  const int64_t chunk = linear_cross_entropy_chunk(l.tokens, l.vocabulary);
  for (int64_t row = 0; row < l.tokens; row += chunk) {
    const int64_t rows = std::min(chunk, l.tokens - row);
    const Products p = products(l, row, rows, logits);
    gemm(p.logits, work, pool);
    if (l.logits != Element::f32) round_logits(l, rows, logits, static_cast<uint16_t*>(work), pool);
    if (l.softcap > 0) cap(l.softcap, rows * l.vocabulary, logits, slopes, pool);
    cross_entropy({.rows = rows,
                   .columns = l.vocabulary,
                   .x = logits,
                   .ldx = l.vocabulary,
                   .labels = l.labels + row,
                   .scale = l.scale,
                   .weights = l.weights ? l.weights + row : nullptr,
                   .smoothing = l.smoothing,
                   .gradient = has_gradient(l),
                   .nll = l.nll + row,
                   .correct = l.correct ? l.correct + row : nullptr},
                  pool);
    if (l.softcap > 0 && has_gradient(l)) mul(rows * l.vocabulary, logits, slopes, logits, pool);
    if (l.dx) gemm(p.dx, work, pool);
    if (l.dw) gemm(p.dw, work, pool);
    if (l.dbias) column_sum(rows, l.vocabulary, logits, l.vocabulary, row > 0, l.dbias, pool);
  }
}

}  // namespace hone::cpu
