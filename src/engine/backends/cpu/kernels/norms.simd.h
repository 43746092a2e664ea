// Layer and RMS norms, and their gradients. dgamma and dbeta are summed in parts, called leaves, that depend on the
// shape alone.
#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/norms.h"

namespace hone::cpu::HONE_ISA {
namespace {

// Sums a row of `columns` values in four interleaved partial sums, so that additions do not wait for each other.
// f(j, whole, width) returns the vector of W values that begins at column j. If `whole` is false, only `width` columns
// are left, and f returns 0 for the columns past the end of the row.
template <class Fn>
HONE_INLINE float row_sum(int64_t columns, Fn&& f) {
  F s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
  int64_t j = 0;
  for (; j + 4 * W <= columns; j += 4 * W) {
    s0 = s0 + f(j, std::true_type{}, int64_t{W});
    s1 = s1 + f(j + W, std::true_type{}, int64_t{W});
    s2 = s2 + f(j + 2 * W, std::true_type{}, int64_t{W});
    s3 = s3 + f(j + 3 * W, std::true_type{}, int64_t{W});
  }
  for (; j < columns; j += W) s0 = s0 + f(j, std::false_type{}, columns - j);
  return reduce_add((s0 + s1) + (s2 + s3));
}

template <NormKind kKind>
void norm_rows(const Norm& n, int64_t begin, int64_t end) {
  const int64_t c = n.columns;
  for (int64_t i = begin; i < end; ++i) {
    const float* x = n.input + i * c;
    float mean = 0;
    if (n.residual) {
      float* out = n.sum + i * c;
      const float* r = n.residual + i * c;
      mean = row_sum(
          c, [&](int64_t j, auto whole, int64_t w) __attribute__((always_inline)) {
            const F v = get(x + j, whole, w) + get(r + j, whole, w);
            put(out + j, v, whole, w);
            return v;
          });
      x = out;
    } else if (kKind == NormKind::layer) {
      mean = row_sum(
          c, [&](int64_t j, auto whole, int64_t w)
                 __attribute__((always_inline)) { return get(x + j, whole, w); });
    }
    mean = kKind == NormKind::layer ? mean / static_cast<float>(c) : 0.0f;
    const F m = set1(mean);
    const float square = row_sum(
        c, [&](int64_t j, auto whole, int64_t w) __attribute__((always_inline)) {
          F v = get(x + j, whole, w) - m;
          if constexpr (kKind == NormKind::layer && !decltype(whole)::value)
            v = select(lane_index() < set1(static_cast<int32_t>(w < W ? w : W)), v, zero());
          return v * v;
        });
    const float rstd = 1.0f / __builtin_sqrtf(square / static_cast<float>(c) + n.eps);
    if (n.mean && kKind == NormKind::layer) n.mean[i] = mean;
    if (n.rstd) n.rstd[i] = rstd;
    const F s = set1(rstd);
    for_vectors(
        0, c, [&](int64_t j, auto whole, int64_t w) __attribute__((always_inline)) {
          F v = (get(x + j, whole, w) - m) * s;
          if (n.gamma) v = v * get(n.gamma + j, whole, w);
          if (n.beta) v = v + get(n.beta + j, whole, w);
          put(n.y + i * c + j, v, whole, w);
        });
  }
}

// Computes dx of rows [begin, end), and adds their dgamma and dbeta to part[2][columns].
template <NormKind kKind>
void backward_rows(const NormBackward& n, int64_t begin, int64_t end, float* part) {
  const int64_t c = n.columns;
  float *pg = part, *pb = part + c;
  for (int64_t i = begin; i < end; ++i) {
    const float *x = n.x + i * c, *dy = n.dy + i * c;
    const F m = set1(kKind == NormKind::layer ? n.mean[i] : 0.0f), s = set1(n.rstd[i]);
    F g0 = zero(), gx = zero();  // sums of dy gamma and of dy gamma xhat
    for_vectors(
        0, c, [&](int64_t j, auto whole, int64_t w) __attribute__((always_inline)) {
          const F d = get(dy + j, whole, w), xhat = (get(x + j, whole, w) - m) * s;
          const F g = n.gamma ? d * get(n.gamma + j, whole, w) : d;
          g0 = g0 + g;
          gx = fma(g, xhat, gx);
          if (n.dgamma) put(pg + j, fma(d, xhat, get(pg + j, whole, w)), whole, w);
          if (n.dbeta) put(pb + j, get(pb + j, whole, w) + d, whole, w);
        });
    const float scale = 1.0f / static_cast<float>(c);
    const F a = set1(kKind == NormKind::layer ? reduce_add(g0) * scale : 0.0f);
    const F b = set1(reduce_add(gx) * scale);
    for_vectors(
        0, c, [&](int64_t j, auto whole, int64_t w) __attribute__((always_inline)) {
          const F d = get(dy + j, whole, w), xhat = (get(x + j, whole, w) - m) * s;
          const F g = n.gamma ? d * get(n.gamma + j, whole, w) : d;
          F v = s * (g - a - xhat * b);
          if (n.dsum) v = v + get(n.dsum + i * c + j, whole, w);
          put(n.dx + i * c + j, v, whole, w);
        });
  }
}

constexpr int64_t kLeaf = 64;  // rows of a leaf

int64_t leaves_of(int64_t rows) { return (rows + kLeaf - 1) / kLeaf; }

// out[j] = the sum over the leaves, in order, of part[leaf * stride + j], for columns [j0, j1).
void sum_leaves(const float* part, int64_t stride, int64_t leaves, int64_t j0, int64_t j1,
                float* out) {
  for (int64_t j = j0; j < j1; j += W) {
    F s = zero();
    for (int64_t k = 0; k < leaves; ++k) s = s + load_n(part + k * stride + j, j1 - j);
    store_n(out + j, s, j1 - j);
  }
}

}  // namespace

void norm(const Norm& n, ThreadPool& pool) {
  parallel_items(pool, n.rows, n.columns, [&](int64_t begin, int64_t end, int) {
    if (n.kind == NormKind::layer)
      norm_rows<NormKind::layer>(n, begin, end);
    else
      norm_rows<NormKind::rms>(n, begin, end);
  });
}

int64_t norm_backward_workspace_bytes(int64_t rows, int64_t columns) {
  return 4 * leaves_of(rows) * ((2 * columns + 15) / 16 * 16);
}

void norm_backward(const NormBackward& n, void* workspace, ThreadPool& pool) {
  float* parts = static_cast<float*>(workspace);
  const int64_t stride = (2 * n.columns + 15) / 16 * 16, leaves = leaves_of(n.rows);
  pool.run([&](int thread) {
    const Range mine = thread_range(leaves, thread, pool.size());
    for (int64_t k = mine.begin; k < mine.end; ++k) {
      float* part = parts + k * stride;
      memset(part, 0, 2 * n.columns * sizeof(float));
      const int64_t begin = k * kLeaf, end = begin + kLeaf < n.rows ? begin + kLeaf : n.rows;
      if (n.kind == NormKind::layer)
        backward_rows<NormKind::layer>(n, begin, end, part);
      else
        backward_rows<NormKind::rms>(n, begin, end, part);
    }
    pool.barrier();
    const Range c = thread_range(n.columns, thread, pool.size());
    if (n.dgamma) sum_leaves(parts, stride, leaves, c.begin, c.end, n.dgamma);
    if (n.dbeta) sum_leaves(parts + n.columns, stride, leaves, c.begin, c.end, n.dbeta);
  });
}

}  // namespace hone::cpu::HONE_ISA
