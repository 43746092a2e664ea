// Rotary position embeddings, token embeddings and their gradients, and cross-entropy, row by row.
#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/rows.h"

namespace hone::cpu::HONE_ISA {

int64_t rope_workspace_bytes(int64_t rotary, int threads) {
  return 4 * threads * ((rotary + 15) / 16 * 16);
}

namespace {
void turn_neighbours(const float* x, const float* c, const float* s, int64_t half, float* y) {
  for (int64_t j = 0; j < half; ++j) {
    const float a = x[2 * j], b = x[2 * j + 1];
    y[2 * j] = a * c[j] - b * s[j];
    y[2 * j + 1] = b * c[j] + a * s[j];
  }
}
}  // namespace

void rope(const Rope& r, void* workspace, ThreadPool& pool) {
  const int64_t half = r.rotary / 2, stride = (r.rotary + 15) / 16 * 16;
  parallel_items(pool, r.tokens, r.heads * r.head_dim, [&](int64_t begin, int64_t end, int thread) {
    float* c = static_cast<float*>(workspace) + thread * stride;
    float* s = c + half;
    for (int64_t t = begin; t < end; ++t) {
      for (int64_t j = 0; j < half; ++j) {
        const float angle = static_cast<float>(r.positions[t]) * r.inv_freq[j];
        c[j] = __builtin_cosf(angle) * r.factor;
        s[j] = __builtin_sinf(angle) * (r.backward ? -r.factor : r.factor);
      }
      for (int64_t h = 0; h < r.heads; ++h) {
        const float* x = r.x.data + t * r.x.token + h * r.x.head;
        float* y = r.y.data + t * r.y.token + h * r.y.head;
        if (r.interleaved)
          turn_neighbours(x, c, s, half, y);
        else
          for_vectors(
              0, half, HONE_VECTOR {
                const F a = get(x + i, whole, n), b = get(x + half + i, whole, n);
                const F co = get(c + i, whole, n), si = get(s + i, whole, n);
                put(y + i, fnma(b, si, a * co), whole, n);
                put(y + half + i, fma(a, si, b * co), whole, n);
              });
        if (y != x && r.rotary < r.head_dim)
          memcpy(y + r.rotary, x + r.rotary, (r.head_dim - r.rotary) * sizeof(float));
      }
    }
  });
}

namespace {
HONE_INLINE const float* table_row(const float* table, int64_t rows, int64_t columns, int32_t id) {
  return id >= 0 && id < rows ? table + id * columns : nullptr;
}
}  // namespace

void embedding(const Embedding& e, ThreadPool& pool) {
  parallel_items(pool, e.tokens, e.columns, [&](int64_t begin, int64_t end, int) {
    for (int64_t t = begin; t < end; ++t) {
      const float* a = table_row(e.table, e.vocabulary, e.columns, e.ids[t]);
      const float* b =
          e.table2 ? table_row(e.table2, e.vocabulary2, e.columns, e.ids2[t]) : nullptr;
      for_vectors(
          0, e.columns, HONE_VECTOR {
            F v = a ? get(a + i, whole, n) : zero();
            if (b) v = v + get(b + i, whole, n);
            put(e.out + t * e.columns + i, v, whole, n);
          });
    }
  });
}

int64_t embedding_gradient_workspace_bytes(int64_t tokens) {
  return 2 * 8 * ((tokens + 7) / 8 * 8) + 4 * 2048;
}

void embedding_gradient(int64_t tokens, int64_t columns, int64_t vocabulary, const int32_t* ids,
                        const float* dy, float* dtable, void* workspace, ThreadPool& pool) {
  // pairs id << 32 | t, by a least-significant-digit radix sort of the ids
  auto* from = static_cast<uint64_t*>(workspace);
  auto* to = from + (tokens + 7) / 8 * 8;
  auto* counts = reinterpret_cast<uint32_t*>(to + (tokens + 7) / 8 * 8);
  int64_t used = 0;
  for (int64_t t = 0; t < tokens; ++t)
    if (ids[t] >= 0 && ids[t] < vocabulary)
      from[used++] = static_cast<uint64_t>(ids[t]) << 32 | static_cast<uint64_t>(t);
  for (int shift = 32; (vocabulary - 1) >> (shift - 32) > 0 && used > 0; shift += 11) {
    memset(counts, 0, 2048 * sizeof(uint32_t));
    for (int64_t i = 0; i < used; ++i) ++counts[from[i] >> shift & 2047];
    uint32_t at = 0;
    for (int d = 0; d < 2048; ++d) {
      const uint32_t n = counts[d];
      counts[d] = at;
      at += n;
    }
    for (int64_t i = 0; i < used; ++i) to[counts[from[i] >> shift & 2047]++] = from[i];
    uint64_t* swap = from;
    from = to;
    to = swap;
  }
  // threads divide the columns, so they have equal work even if ids repeat
  pool.parallel_for((columns + 15) / 16, [&](int64_t b, int64_t e, int) {
    const int64_t begin = b * 16, end = min_of(e * 16, columns);
    for (int64_t i = 0; i < used; ++i) {
      float* row = dtable + static_cast<int64_t>(from[i] >> 32) * columns;
      const float* add = dy + static_cast<int64_t>(from[i] & 0xffffffffu) * columns;
      for_vectors(
          begin, end, [&](int64_t j, auto whole, int64_t n) __attribute__((always_inline)) {
            put(row + j, get(row + j, whole, n) + get(add + j, whole, n), whole, n);
          });
    }
  });
}

void cap(float softcap, int64_t count, float* x, float* slope, ThreadPool& pool) {
  constexpr int64_t kPiece = 4096;
  pool.parallel_for((count + kPiece - 1) / kPiece, [&](int64_t begin, int64_t end, int) {
    const F inverse = set1(2.0f / softcap), by = set1(softcap), one = set1(1.0f);
    for_vectors(
        begin * kPiece, min_of(end * kPiece, count), HONE_VECTOR {
          const F e = exp(min(max(get(x + i, whole, n) * inverse, set1(-40.0f)), set1(40.0f)));
          const F t = one - set1(2.0f) / (e + one);
          put(x + i, t * by, whole, n);
          put(slope + i, fnma(t, t, one), whole, n);
        });
  });
}

void cross_entropy(const CrossEntropy& c, ThreadPool& pool) {
  const bool smooth = c.smoothing != 0;
  pool.parallel_for(c.rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      float* x = c.x + r * c.ldx;
      const int32_t label = c.labels[r];
      if (label < 0 || label >= c.columns) {
        c.nll[r] = 0;
        if (c.correct) c.correct[r] = 0;
        if (c.gradient) memset(x, 0, c.columns * sizeof(float));
        continue;
      }
      const float target = x[label];
      F top0 = set1(-__builtin_inff()), top1 = top0;
      int64_t j = 0;
      for (; j + 2 * W <= c.columns; j += 2 * W) {
        top0 = max(top0, load(x + j));
        top1 = max(top1, load(x + j + W));
      }
      float top = reduce_max(max(top0, top1));
      for (; j < c.columns; ++j) top = max_of(top, x[j]);
      if (c.correct) {
        c.correct[r] = target == top;
        for (int64_t i = 0; target == top && i < label; ++i)
          if (x[i] == top) c.correct[r] = 0;
      }
      const F t = set1(top);
      // sums of 4096 columns at a time in f32, added up in f64
      double sum = 0, all = 0;  // all: sum of x, for label smoothing
      for (int64_t run = 0; run < c.columns; run += 4096) {
        F s = zero(), raw = zero();
        for_vectors(
            run, min_of<int64_t>(run + 4096, c.columns), HONE_VECTOR {
              const F value = get(x + i, whole, n);
              if (smooth) raw = raw + value;
              F e = exp(value - t);
              if constexpr (!decltype(whole)::value)
                e = select(lane_index() < set1(static_cast<int32_t>(n)), e, zero());
              if (c.gradient) put(x + i, e, whole, n);
              s = s + e;
            });
        sum += static_cast<double>(reduce_add(s));
        if (smooth) all += static_cast<double>(reduce_add(raw));
      }
      c.nll[r] = static_cast<float>(__builtin_log(sum)) + (top - target);
      const double share = c.smoothing / static_cast<double>(c.columns);  // of each column's target
      if (smooth)
        c.nll[r] += static_cast<float>(c.smoothing * static_cast<double>(target) - share * all);
      if (!c.gradient) continue;
      const double scale =
          static_cast<double>(c.scale) * (c.weights ? static_cast<double>(c.weights[r]) : 1.0);
      const F f = set1(static_cast<float>(scale / sum));
      const F less = set1(static_cast<float>(scale * share));
      for_vectors(
          0, c.columns, HONE_VECTOR { put(x + i, get(x + i, whole, n) * f - less, whole, n); });
      x[label] -= static_cast<float>(scale * (1 - c.smoothing));
    }
  });
}

}  // namespace hone::cpu::HONE_ISA
