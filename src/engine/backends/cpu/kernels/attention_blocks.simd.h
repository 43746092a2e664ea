// The common parts of attention, forward and backward. Blocks of kBK keys are multiplied with a group of
// queries. Scores are stored transposed, S^T[key][query], with queries in vector lanes, so maxima and sums
// over keys are plain vector operations. K and V are read in place, as broadcasts or rows; Q and dO are
// transposed once each.
//   forward:   S^T = K Q^T;  O^T = V^T P^T
//   backward:  S^T = K Q^T;  dP^T = V dO^T;  dV = P^T dO;  dK = dS^T Q;  dQ^T = K^T dS^T
#pragma once

#include "engine/backends/cpu/isa/philox.simd.h"
#include "engine/backends/cpu/kernels/attention.h"

namespace hone::cpu::HONE_ISA {
namespace {

constexpr int kRows = W == 16 ? 8 : 4;  // a register tile has kRows x kLanes floats
constexpr int kLanes = 2 * W;
constexpr int64_t kBK = 64;     // keys of a block: one period of the layout of dropout words
constexpr int64_t kBQ = 32;     // queries of a block in the forward pass
constexpr int64_t kBQB = 64;    // queries of a block in the backward pass
constexpr int64_t kGroup = 32;  // queries that share a range of keys in backward
static_assert(kGroup % kLanes == 0 && kBQ % kLanes == 0);
constexpr float kLog2E = 1.44269504088896341f, kLn2 = 0.69314718055994531f;
const float kInfinity = __builtin_inff();

// 2^x for x <= 128, relative error below 2e-7; 0 below -126.
HONE_INLINE F exp2(F x) {
  const F n = round(max(x, set1(-127.0f)));
  const F r = x - n;
  F p = set1(1.3264718392808662e-3f);
  p = fma(p, r, set1(9.671513260948793e-3f));
  p = fma(p, r, set1(5.550733772504163e-2f));
  p = fma(p, r, set1(2.402224207182901e-1f));
  p = fma(p, r, set1(6.931469775788286e-1f));
  p = fma(p, r, set1(1.0f));
  return select(x < set1(-126.0f), zero(), scale_by_power(p, n));
}

// tanh(x) with an absolute error below 3e-7.
HONE_INLINE F tanh_of(F x) {
  const F e = exp2(min(max(x * set1(2 * kLog2E), set1(-60.0f)), set1(60.0f)));
  return set1(1.0f) - set1(2.0f) / (e + set1(1.0f));
}

// Applies the softcap to scores that are multiplied by log2 e: rows [lo, hi), and lanes [lane, lane + lanes).
HONE_INLINE void cap_rows(float softcap, int64_t lo, int64_t hi, int64_t lane, int64_t lanes,
                          int64_t stride, float* rows) {
  const F cap = set1(softcap * kLog2E), inverse = set1(1.0f / (softcap * kLog2E));
  for (int64_t k = lo; k < hi; ++k)
    for (int64_t l = lane; l < lane + lanes; l += W)
      store(rows + k * stride + l, cap * tanh_of(load(rows + k * stride + l) * inverse));
}

enum Start { kZero, kAdd, kScaleAdd };

// c[R][NV*W] = start + sum over x in [0, depth) of a(r, x) * b[x][lanes], where a(r, x) is
// a[r * as + x] (kAlong) or a[x * as + r]. kScaleAdd multiplies the old c by factor[lanes].
template <int R, int NV, bool kAlong, Start kStart>
HONE_INLINE void tile(int64_t depth, const float* a, int64_t as, const float* b, int64_t bs,
                      float* c, int64_t cs, const float* factor) {
  F acc[R][NV];
  unroll<R>(HONE_LAMBDA(r) {
    unroll<NV>(HONE_LAMBDA(v) {
      if constexpr (kStart == kZero)
        acc[r][v] = zero();
      else if constexpr (kStart == kAdd)
        acc[r][v] = load(c + r * cs + v * W);
      else
        acc[r][v] = load(c + r * cs + v * W) * load(factor + v * W);
    });
  });
#pragma GCC unroll 4
  for (int64_t x = 0; x < depth; ++x) {
    F bv[NV];
    unroll<NV>(HONE_LAMBDA(v) { bv[v] = load(b + x * bs + v * W); });
    unroll<R>(HONE_LAMBDA(r) {
      const F av = set1(kAlong ? a[r * as + x] : a[x * as + r]);
      unroll<NV>(HONE_LAMBDA(v) { acc[r][v] = fma(av, bv[v], acc[r][v]); });
    });
  }
  unroll<R>(
      HONE_LAMBDA(r) { unroll<NV>(HONE_LAMBDA(v) { store(c + r * cs + v * W, acc[r][v]); }); });
}

// tile() for rows [0, rows) and kLanes lanes.
template <bool kAlong, Start kStart>
HONE_INLINE void strip(int64_t rows, int64_t depth, const float* a, int64_t as, const float* b,
                       int64_t bs, float* c, int64_t cs, const float* factor) {
  const int64_t ar = kAlong ? as : 1;
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows)
    tile<kRows, 2, kAlong, kStart>(depth, a + r * ar, as, b, bs, c + r * cs, cs, factor);
  for (; r < rows; ++r)
    tile<1, 2, kAlong, kStart>(depth, a + r * ar, as, b, bs, c + r * cs, cs, factor);
}

// c[R][columns] += the sum over x of a[r * as + x] * b[x][columns]. Any number of columns; rows need no padding.
template <int R>
HONE_INLINE void add_rows(int64_t columns, int64_t depth, const float* a, int64_t as,
                          const float* b, int64_t bs, float* c, int64_t cs) {
  int64_t j = 0;
  for (; j + kLanes <= columns; j += kLanes)
    tile<R, 2, true, kAdd>(depth, a, as, b + j, bs, c + j, cs, nullptr);
  for (; j + W <= columns; j += W)
    tile<R, 1, true, kAdd>(depth, a, as, b + j, bs, c + j, cs, nullptr);
  if (j < columns) {
    const int64_t n = columns - j;
    for (int r = 0; r < R; ++r) {
      F acc = load_n(c + r * cs + j, n);
      for (int64_t x = 0; x < depth; ++x)
        acc = fma(set1(a[r * as + x]), load_n(b + x * bs + j, n), acc);
      store_n(c + r * cs + j, acc, n);
    }
  }
}

// to[d][row] = factor * from[row][d], for rows [0, lanes); 0 for rows from `count` on. lanes: a multiple of W.
void transpose_in(const float* from, int64_t stride, int64_t count, int64_t dim, int64_t lanes,
                  float factor, float* to) {
  for (int64_t q = 0; q < lanes; q += W)
    for (int64_t d = 0; d < dim; d += W) {
      F r[W];
      for (int l = 0; l < W; ++l)
        r[l] = q + l < count ? load_n(from + (q + l) * stride + d, dim - d) * set1(factor) : zero();
      transpose_registers(r);
      for (int l = 0; l < W; ++l)
        if (d + l < dim) store(to + (d + l) * lanes + q, r[l]);
    }
}

// to[row][d] = factor[row] * from[d][row], for rows [0, count).
void transpose_out(const float* from, int64_t lanes, int64_t count, int64_t dim,
                   const float* factor, float* to, int64_t stride) {
  for (int64_t q = 0; q < count; q += W) {
    const F f = load(factor + q);
    for (int64_t d = 0; d < dim; d += W) {
      F r[W];
      for (int l = 0; l < W; ++l)
        r[l] = d + l < dim ? load(from + (d + l) * lanes + q) * f : zero();
      transpose_registers(r);
      for (int l = 0; l < W; ++l)
        if (q + l < count) store_n(to + (q + l) * stride + d, r[l], dim - d);
    }
  }
}

// Whether the window also limits the keys after a query.
HONE_INLINE bool both_sides(const Attention& a) { return a.window > 0 && !a.causal; }

// The range of keys that at least one of queries [q0, q0 + nq) of a sequence may see.
Range visible(const Attention& a, int64_t lq, int64_t lk, int64_t q0, int64_t nq) {
  const int64_t o = lk - lq;
  int64_t begin = 0, end = lk;
  if (a.causal) end = min_of(end, q0 + nq + o);
  if (both_sides(a)) end = min_of(end, q0 + nq + o + a.window - 1);
  if (a.window > 0) begin = max_of<int64_t>(0, q0 + o - a.window + 1);
  return {min_of(begin, max_of<int64_t>(end, 0)), max_of<int64_t>(end, 0)};
}

// Whether one of queries [q0, q0 + nq) does not see one of keys [k0, k0 + nk).
HONE_INLINE bool needs_mask(const Attention& a, int64_t o, int64_t q0, int64_t nq, int64_t k0,
                            int64_t nk) {
  return (a.causal && k0 + nk - 1 > q0 + o) || (a.window > 0 && k0 <= q0 + nq - 1 + o - a.window) ||
         (both_sides(a) && k0 + nk - 1 >= q0 + o + a.window);
}

// In each lane: -1 if query q sees key k, else 0.
HONE_INLINE I sees(const Attention& a, int64_t o, I q, int64_t k) {
  I ok = set1(-1);
  if (a.causal) ok = ok & (q >= set1(static_cast<int32_t>(k - o)));
  if (a.window > 0)
    ok = ok & (q < set1(static_cast<int32_t>(min_of<int64_t>(k - o + a.window, INT32_MAX))));
  if (both_sides(a))
    ok = ok & (q > set1(static_cast<int32_t>(max_of<int64_t>(k - o - a.window, INT32_MIN))));
  return ok;
}

// ---- bias ----------------------------------------------------------------------------------

[[maybe_unused]] int64_t bias_lanes(const Attention& a) {
  return a.reach > 0 ? (a.tokens_k + 2 * kBQB) / 16 * 16 : 0;
}

// Writes the bias of queries [q0, q0 + lanes) and of all keys of the blocks of `keys`. The layout makes the bias of a
// key for all lanes contiguous:
//   to[keys.end - 1 - k + lane] = bias of query q0 + lane and key k, times log2 e
[[maybe_unused]] void bias_row(const Attention& a, int64_t h, int64_t o, int64_t q0, int64_t lanes,
                               Range keys, float* to) {
  const int64_t columns = 2 * a.reach - 1, top = keys.end - 1 - q0 - o + a.reach - 1;
  const float* from = a.bias + h * columns;
  const int64_t count = keys.end - keys.begin / kBK * kBK + lanes - 1;
  // lanes after the last query may be outside of the table of biases
  const int64_t x0 = min_of(count, max_of<int64_t>(0, top - columns + 1));
  const int64_t x1 = max_of(x0, min_of(count, top + 1));
  for (int64_t x = 0; x < x0; ++x) to[x] = 0.0f;
  for (int64_t x = x0; x < x1; ++x) to[x] = from[top - x] * kLog2E;
  for (int64_t x = x1; x < count; ++x) to[x] = 0.0f;
}

// Adds the bias to the scores of rows [lo, hi) of the block at key k0, and lanes [lane, lane + lanes). row, end: the
// bias from bias_row(), and its keys.end.
HONE_INLINE void add_bias(const float* row, int64_t end, int64_t k0, int64_t lo, int64_t hi,
                          int64_t lane, int64_t lanes, int64_t stride, float* rows) {
  for (int64_t k = lo; k < hi; ++k) {
    const float* of_key = row + (end - 1 - k0 - k);
    for (int64_t l = lane; l < lane + lanes; l += W)
      store(rows + k * stride + l, load(rows + k * stride + l) + load(of_key + l));
  }
}

// ---- rows of one head ----------------------------------------------------------------------

// In a buffer with all heads, the rows of one head are about a page apart, so they share a few sets of the
// L1 cache. If a sequence has enough keys for this to matter, and at most kPackedKeys, blocks work on a copy
// without gaps between rows.
constexpr int64_t kPackedKeys = 1024;

HONE_INLINE bool packs(int64_t rows) { return rows > kBK / 2 && rows <= kPackedKeys; }
int64_t packed_floats(const Attention& a) {
  return (min_of(kPackedKeys, a.tokens_k) * a.head_dim + 15) / 16 * 16;
}

void copy_rows(const float* from, int64_t from_stride, int64_t rows, int64_t dim, float* to,
               int64_t to_stride) {
  for (int64_t r = 0; r < rows; ++r)
    for_vectors(
        0, dim, HONE_VECTOR {
          put(to + r * to_stride + i, get(from + r * from_stride + i, whole, n), whole, n);
        });
}

// The keys and values of a sequence and key head: channel d of key j is k[j * k_row + d].
struct KeyRows {
  const float *k, *v;
  int64_t k_row, v_row;
};

// The rows of a sequence and key head. If packs() is true, rows [k0, k1) are copied into `room`, which has 2 *
// packed_floats() floats.
KeyRows key_rows(const Attention& a, int64_t s, int64_t hk, int64_t k0, int64_t k1, float* room) {
  const float* k = a.k.data + a.cu_k[s] * a.k.token + hk * a.k.head;
  const float* v = a.v.data + a.cu_k[s] * a.v.token + hk * a.v.head;
  if (!packs(a.cu_k[s + 1] - a.cu_k[s])) return {k, v, a.k.token, a.v.token};
  const int64_t dim = a.head_dim;
  float* room_v = room + packed_floats(a);
  copy_rows(k + k0 * a.k.token, a.k.token, k1 - k0, dim, room + k0 * dim, dim);
  copy_rows(v + k0 * a.v.token, a.v.token, k1 - k0, dim, room_v + k0 * dim, dim);
  return {room, room_v, dim, dim};
}

// key_rows() of all keys, for calls in the order of for_units(): successive calls with the same sequence and key head
// make one copy.
class KeyRowsInTurn {
 public:
  KeyRowsInTurn(const Attention& a, float* room) : a_(a), room_(room) {}
  const KeyRows& at(int64_t s, int64_t hk) {
    if (s != s_ || hk != hk_) rows_ = key_rows(a_, s, hk, 0, a_.cu_k[s + 1] - a_.cu_k[s], room_);
    s_ = s;
    hk_ = hk;
    return rows_;
  }

 private:
  const Attention& a_;
  float* room_;
  int64_t s_ = -1, hk_ = -1;
  KeyRows rows_ = {};
};

struct Drop {
  bool on;
  DropoutKey key;
  U threshold;
  F scale;
  int64_t first_head = 0;
};
template <class Call>
Drop make_drop(const Call& a, int64_t first_head = 0) {
  return {a.dropout > 0, a.key, set1(dropout_threshold(a.dropout)), set1(dropout_scale(a.dropout)),
          first_head};
}
// The dropout words of queries q, in lanes, and of the four keys k0 + j, k0 + j + 16, k0 + j + 32 and k0 + j + 48.
// k0: a multiple of 64.
HONE_INLINE void drop_words(const Drop& drop, int64_t sample, int64_t head, I q, int64_t k0,
                            int64_t j, U* words) {
  const auto s = static_cast<uint64_t>(sample);
  const U c[4] = {
      set1(static_cast<uint32_t>(s)),
      set1((static_cast<uint32_t>(s >> 32) << 16) ^ static_cast<uint32_t>(drop.first_head + head)),
      reinterpret_cast<U>(q), set1(static_cast<uint32_t>(k0 / 4 + j))};
  philox(drop.key, c, words);
}

void zero_rows(Heads<float> x, int64_t heads, int64_t dim, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t)
    for (int64_t h = 0; h < heads; ++h)
      memset(x.data + t * x.token + h * x.head, 0, dim * sizeof(float));
}

// Calls visit(s, h, q0) for the units of this thread. The units are all triples (sequence, head, block of queries), in
// order. They are divided among the threads by the number of visible keys.
template <class Fn>
HONE_INLINE void for_units(const Attention& a, int64_t block, int thread, int threads, Fn&& visit) {
  auto cost = [&](int64_t lq, int64_t lk, int64_t q0) {
    const Range r = visible(a, lq, lk, q0, min_of(block, lq - q0));
    return r.end - r.begin + 32;
  };
  int64_t total = 0;
  for (int64_t s = 0; s < a.sequences; ++s) {
    const int64_t lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
    for (int64_t q0 = 0; q0 < lq; q0 += block) total += cost(lq, lk, q0);
  }
  total *= a.heads;
  int64_t at = 0;  // a unit belongs to the thread in whose share its middle is
  for (int64_t s = 0; s < a.sequences; ++s) {
    const int64_t lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
    for (int64_t h = 0; h < a.heads; ++h)
      for (int64_t q0 = 0; q0 < lq; q0 += block) {
        const int64_t c = cost(lq, lk, q0);
        if ((2 * at + c) * threads / (2 * total) == thread) visit(s, h, q0);
        at += c;
      }
  }
}

}  // namespace

}  // namespace hone::cpu::HONE_ISA
