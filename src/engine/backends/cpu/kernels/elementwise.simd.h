// Activations and their gradients, gates, sums and dropout over vectors.
#include "engine/backends/cpu/gemm/activation.simd.h"
#include "engine/backends/cpu/isa/philox.simd.h"
#include "engine/backends/cpu/kernels/elementwise.h"

namespace hone::cpu::HONE_ISA {
namespace {

// for_vectors() over `count` elements on all threads; threads begin at multiples of 16.
template <class Fn>
HONE_INLINE void parallel_vectors(int64_t count, ThreadPool& pool, Fn&& f) {
  parallel_items(pool, (count + 15) / 16, 16,
                 [&](int64_t b, int64_t e, int) { for_vectors(b * 16, min_of(e * 16, count), f); });
}

template <class Fn>
HONE_INLINE void with_unary(Unary op, Fn&& f) {
  switch (op) {
#define HONE_CASE(name, functor) \
  case Unary::name:              \
    return f(functor{});
    HONE_UNARY(HONE_CASE)
#undef HONE_CASE
  }
}
}  // namespace

void unary(Unary op, int64_t count, const float* x, float* y, ThreadPool& pool) {
  with_unary(op, [&](auto act) {
    parallel_vectors(
        count, pool,
        HONE_VECTOR { put(y + i, decltype(act)::forward(get(x + i, whole, n)), whole, n); });
  });
}

void unary_backward(Unary op, int64_t count, const float* x, const float* dy, float* dx,
                    ThreadPool& pool) {
  with_unary(op, [&](auto act) {
    parallel_vectors(
        count, pool, HONE_VECTOR {
          put(dx + i, decltype(act)::backward(get(x + i, whole, n), get(dy + i, whole, n)), whole,
              n);
        });
  });
}

void gate(const Gate& g, ThreadPool& pool) {
  with_unary(g.op, [&](auto act) {
    pool.parallel_for(g.rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        const float *a = g.a + r * g.lda, *b = g.b + r * g.ldb;
        for_vectors(
            0, g.columns, HONE_VECTOR {
              put(g.y + r * g.ldy + i,
                  decltype(act)::forward(get(a + i, whole, n)) * get(b + i, whole, n), whole, n);
            });
      }
    });
  });
}

void gate_backward(const GateBackward& g, ThreadPool& pool) {
  const Gate& f = g.forward;
  with_unary(f.op, [&](auto act) {
    pool.parallel_for(f.rows, [&](int64_t begin, int64_t end, int) {
      for (int64_t r = begin; r < end; ++r) {
        const float *ap = f.a + r * f.lda, *bp = f.b + r * f.ldb, *dp = g.dy + r * g.lddy;
        for_vectors(
            0, f.columns, HONE_VECTOR {
              const F a = get(ap + i, whole, n), b = get(bp + i, whole, n),
                      d = get(dp + i, whole, n);
              put(g.da + r * g.ldda + i, decltype(act)::backward(a, d * b), whole, n);
              put(g.db + r * g.lddb + i, d * decltype(act)::forward(a), whole, n);
            });
      }
    });
  });
}

void add(int64_t count, const float* a, const float* b, float* y, ThreadPool& pool) {
  parallel_vectors(
      count, pool,
      HONE_VECTOR { put(y + i, get(a + i, whole, n) + get(b + i, whole, n), whole, n); });
}

void mul(int64_t count, const float* a, const float* b, float* y, ThreadPool& pool) {
  parallel_vectors(
      count, pool,
      HONE_VECTOR { put(y + i, get(a + i, whole, n) * get(b + i, whole, n), whole, n); });
}

void scale(int64_t count, float factor, const float* x, float* y, ThreadPool& pool) {
  const F f = set1(factor);
  parallel_vectors(
      count, pool, HONE_VECTOR { put(y + i, get(x + i, whole, n) * f, whole, n); });
}

void axpy(int64_t count, float factor, const float* x, float* y, ThreadPool& pool) {
  const F f = set1(factor);
  parallel_vectors(
      count, pool,
      HONE_VECTOR { put(y + i, fma(get(x + i, whole, n), f, get(y + i, whole, n)), whole, n); });
}

void add_bias(int64_t rows, int64_t columns, const float* x, const float* bias, float* y,
              ThreadPool& pool) {
  pool.parallel_for(rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r)
      for_vectors(
          0, columns, HONE_VECTOR {
            put(y + r * columns + i, get(x + r * columns + i, whole, n) + get(bias + i, whole, n),
                whole, n);
          });
  });
}

void fill(int64_t count, float value, float* y, ThreadPool& pool) {
  const F f = set1(value);
  parallel_vectors(
      count, pool, HONE_VECTOR { put(y + i, f, whole, n); });
}

void column_sum(int64_t rows, int64_t columns, const float* x, int64_t ldx, bool accumulate,
                float* out, ThreadPool& pool) {
  constexpr int64_t kBlock = 1024;  // columns of a block, whose sums stay in the L1 cache
  // threads divide the columns, so no thread waits for another's sums
  parallel_items(pool, (columns + 15) / 16, 16 * rows, [&](int64_t b, int64_t e, int) {
    const int64_t last = min_of(e * 16, columns);
    for (int64_t begin = b * 16; begin < last; begin += kBlock) {
      const int64_t width = min_of(kBlock, last - begin);
      const float* from = x + begin;
      alignas(64) float sum[kBlock];
      memset(sum, 0, sizeof sum);
      int64_t row = 0;
      for (; row + 4 <= rows; row += 4)  // reads the sums once for four rows
        for_vectors(
            0, width, HONE_VECTOR {
              const float* p = from + row * ldx + i;
              const F u = get(p, whole, n) + get(p + ldx, whole, n);
              const F v = get(p + 2 * ldx, whole, n) + get(p + 3 * ldx, whole, n);
              put(sum + i, get(sum + i, whole, n) + (u + v), whole, n);
            });
      for (; row < rows; ++row)
        for_vectors(
            0, width, HONE_VECTOR {
              put(sum + i, get(sum + i, whole, n) + get(from + row * ldx + i, whole, n), whole, n);
            });
      float* to = out + begin;
      for_vectors(
          0, width, HONE_VECTOR {
            const F s = get(sum + i, whole, n);
            put(to + i, accumulate ? s + get(to + i, whole, n) : s, whole, n);
          });
    }
  });
}

void dropout(const Dropout& d, ThreadPool& pool) {
  const U threshold = set1(dropout_threshold(d.p));
  const F factor = set1(dropout_scale(d.p));
  const U lanes = reinterpret_cast<U>(lane_index());
  pool.parallel_for(d.rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t r = begin; r < end; ++r) {
      const float* x = d.x + r * d.columns;
      const float* res = d.residual ? d.residual + r * d.columns : nullptr;
      float* y = d.y + r * d.columns;
      const auto s = static_cast<uint64_t>(d.sample_ids[r]);
      for (int64_t c = 0; c < d.columns; c += 64)
        for (int64_t part = 0; part < 16; part += W) {
          const U counter[4] = {set1(static_cast<uint32_t>(s)),
                                set1(static_cast<uint32_t>(s >> 32)),
                                set1(static_cast<uint32_t>(d.positions[r])),
                                lanes + set1(static_cast<uint32_t>(c / 4 + part))};
          U words[4];
          philox(d.key, counter, words);
          unroll<4>(HONE_LAMBDA(w) {
            const int64_t at = c + w * 16 + part, n = d.columns - at;
            if (n > 0) {
              F v = keep(words[w], threshold, factor, load_n(x + at, n));
              if (res) v = v + load_n(res + at, n);
              store_n(y + at, v, n);
            }
          });
        }
    }
  });
}

}  // namespace hone::cpu::HONE_ISA
