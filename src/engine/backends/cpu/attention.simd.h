// Blocks of kBK keys against a group of queries. Scores are kept transposed, S^T[key][query], with
// queries in vector lanes: maxima and sums over keys are then plain vector operations, and K, V,
// Q, dO are read where they lie, as broadcasts or rows; only Q and dO are transposed, once each.
//   forward:   S^T = K Q^T;  O^T = V^T P^T
//   backward:  S^T = K Q^T;  dP^T = V dO^T;  dV = P^T dO;  dK = dS^T Q;  dQ^T = K^T dS^T
#include "engine/backends/cpu/attention.h"
#include "engine/backends/cpu/philox.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

constexpr int kRows = W == 16 ? 8 : 4;  // register tile: kRows x kLanes
constexpr int kLanes = 2 * W;
constexpr int64_t kBK = 64;   // keys a block: one period of the dropout layout
constexpr int64_t kBQ = 32;   // queries a block in forward
constexpr int64_t kBQB = 64;  // and in backward
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

enum Start { kZero, kAdd, kScaleAdd };

// c[R][NV*W] = start + sum over x in [0, depth) of a(r, x) * b[x][lanes], where a(r, x) is
// a[r * as + x] (kAlong) or a[x * as + r]. kScaleAdd multiplies the old c by factor[lanes].
template <int R, int NV, bool kAlong, Start kStart>
HONE_INLINE void tile(int64_t depth, const float* a, int64_t as, const float* b, int64_t bs,
                      float* c, int64_t cs, const float* factor) {
  F acc[R][NV];
  unroll<R>(HONE_LAMBDA(r) {
    unroll<NV>(HONE_LAMBDA(v) {
      if constexpr (kStart == kZero) acc[r][v] = zero();
      else if constexpr (kStart == kAdd) acc[r][v] = load(c + r * cs + v * W);
      else acc[r][v] = load(c + r * cs + v * W) * load(factor + v * W);
    });
  });
  for (int64_t x = 0; x < depth; ++x) {
    F bv[NV];
    unroll<NV>(HONE_LAMBDA(v) { bv[v] = load(b + x * bs + v * W); });
    unroll<R>(HONE_LAMBDA(r) {
      const F av = set1(kAlong ? a[r * as + x] : a[x * as + r]);
      unroll<NV>(HONE_LAMBDA(v) { acc[r][v] = fma(av, bv[v], acc[r][v]); });
    });
  }
  unroll<R>(HONE_LAMBDA(r) {
    unroll<NV>(HONE_LAMBDA(v) { store(c + r * cs + v * W, acc[r][v]); });
  });
}

// Rows [0, rows) x kLanes, in tiles.
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

// c[R][columns] += a(r, x) b[x][columns] with any number of columns, for rows in plain memory.
template <int R>
HONE_INLINE void add_rows(int64_t columns, int64_t depth, const float* a, int64_t as, const float* b,
                          int64_t bs, float* c, int64_t cs) {
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

// to[d][0..lanes) = factor * from[row][d], zero for rows >= count; lanes a multiple of W.
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

// to[row][d] = factor[row] * from[d][row]
void transpose_out(const float* from, int64_t lanes, int64_t count, int64_t dim,
                   const float* factor, float* to, int64_t stride) {
  for (int64_t q = 0; q < count; q += W) {
    const F f = load(factor + q);
    for (int64_t d = 0; d < dim; d += W) {
      F r[W];
      for (int l = 0; l < W; ++l) r[l] = d + l < dim ? load(from + (d + l) * lanes + q) * f : zero();
      transpose_registers(r);
      for (int l = 0; l < W; ++l)
        if (q + l < count) store_n(to + (q + l) * stride + d, r[l], dim - d);
    }
  }
}

// Keys [begin, end) that queries [q0, q0 + nq) of a sequence may see, any of them.
Range visible(const Attention& a, int64_t lq, int64_t lk, int64_t q0, int64_t nq) {
  const int64_t o = lk - lq;
  int64_t begin = 0, end = lk;
  if (a.causal) end = min_of(end, q0 + nq + o);
  if (a.window > 0) begin = max_of<int64_t>(0, q0 + o - a.window + 1);
  return {min_of(begin, max_of<int64_t>(end, 0)), max_of<int64_t>(end, 0)};
}

// Whether some of queries [q0, q0+nq) do not see some of keys [k0, k0+nk).
HONE_INLINE bool needs_mask(const Attention& a, int64_t o, int64_t q0, int64_t nq, int64_t k0,
                            int64_t nk) {
  return (a.causal && k0 + nk - 1 > q0 + o) || (a.window > 0 && k0 <= q0 + nq - 1 + o - a.window);
}

// Lanes = queries q, key k: -1 where q sees k.
HONE_INLINE I sees(const Attention& a, int64_t o, I q, int64_t k) {
  I ok = set1(-1);
  if (a.causal) ok = ok & (q >= set1(static_cast<int32_t>(k - o)));
  if (a.window > 0) ok = ok & (q < set1(static_cast<int32_t>(min_of<int64_t>(k - o + a.window, INT32_MAX))));
  return ok;
}

struct Drop {
  bool on;
  DropoutKey key;
  U threshold;
  F scale;
};
Drop make_drop(const Attention& a) {
  return {a.dropout > 0, a.key, set1(dropout_threshold(a.dropout)), set1(dropout_scale(a.dropout))};
}
// Words for keys k0 + j, + 16, + 32, + 48 (k0 a multiple of 64) and queries in lanes.
HONE_INLINE void drop_words(const Drop& drop, int64_t sample, int64_t head, I q, int64_t k0, int64_t j,
                            U* words) {
  const auto s = static_cast<uint64_t>(sample);
  const U c[4] = {set1(static_cast<uint32_t>(s)),
                  set1((static_cast<uint32_t>(s >> 32) << 16) ^ static_cast<uint32_t>(head)),
                  reinterpret_cast<U>(q), set1(static_cast<uint32_t>(k0 / 4 + j))};
  philox(drop.key, c, words);
}

// ---- forward -------------------------------------------------------------------------------

// P = 2^(S - m), dropped where asked; adds the undropped P to the sums. Rows [lo, hi) of one block.
HONE_INLINE void softmax_block(const Attention& a, const Drop& drop, int64_t s, int64_t h, I q,
                               int64_t k0, int64_t lo, int64_t hi, F m, F& sum, float* st) {
  if (!drop.on) {
    F other = zero();
    int64_t k = lo;
    for (; k + 2 <= hi; k += 2) {
      const F p0 = exp2(load(st + k * kBQ) - m), p1 = exp2(load(st + (k + 1) * kBQ) - m);
      sum = sum + p0;
      other = other + p1;
      store(st + k * kBQ, p0);
      store(st + (k + 1) * kBQ, p1);
    }
    if (k < hi) {
      const F p = exp2(load(st + k * kBQ) - m);
      sum = sum + p;
      store(st + k * kBQ, p);
    }
    sum = sum + other;
    return;
  }
  for (int64_t j = 0; j < 16; ++j) {
    U words[4];
    drop_words(drop, a.sample_ids[s], h, q, k0, j, words);
    for (int w = 0; w < 4; ++w) {
      const int64_t k = w * 16 + j;
      if (k < lo || k >= hi) continue;
      const F p = exp2(load(st + k * kBQ) - m);
      sum = sum + p;
      store(st + k * kBQ, keep(words[w], drop.threshold, drop.scale, p));
    }
  }
}

void forward_block(const Attention& a, const Drop& drop, int64_t s, int64_t h, int64_t q0, float* w) {
  const int64_t dim = a.head_dim, lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
  const int64_t o = lk - lq, nq = min_of(kBQ, lq - q0), hk = h / (a.heads / a.kv_heads);
  float* qt = w;                // [dim][kBQ], times scale * log2 e
  float* ot = qt + dim * kBQ;   // [dim][kBQ]
  float* st = ot + dim * kBQ;   // [kBK][kBQ]
  float* alpha = st + kBK * kBQ;  // [kBQ]
  const float* qp = a.q.data + (a.cu_q[s] + q0) * a.q.token + h * a.q.head;
  const float* kp = a.k.data + a.cu_k[s] * a.k.token + hk * a.k.head;
  const float* vp = a.v.data + a.cu_k[s] * a.v.token + hk * a.v.head;
  transpose_in(qp, a.q.token, nq, dim, kBQ, a.scale * kLog2E, qt);
  constexpr int kVectors = kBQ / W;
  F m[kVectors], sum[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    m[v] = set1(-kInfinity);
    sum[v] = zero();
  }
  const Range keys = visible(a, lq, lk, q0, nq);
  const I index = lane_index() + set1(static_cast<int32_t>(q0));
  bool first = true;
  for (int64_t k0 = keys.begin / kBK * kBK; k0 < keys.end; k0 += kBK) {
    const int64_t lo = max_of<int64_t>(0, keys.begin - k0), hi = min_of(kBK, keys.end - k0);
    const bool mask = needs_mask(a, o, q0, nq, k0 + lo, hi - lo);
    for (int64_t l = 0; l < kBQ; l += kLanes)
      strip<true, kZero>(hi - lo, dim, kp + (k0 + lo) * a.k.token, a.k.token, qt + l, kBQ,
                         st + lo * kBQ + l, kBQ, nullptr);
    for (int v = 0; v < kVectors; ++v) {
      float* sv = st + v * W;
      const I q = index + set1(v * W);
      if (mask)
        for (int64_t k = lo; k < hi; ++k)
          store(sv + k * kBQ, select(sees(a, o, q, k0 + k), load(sv + k * kBQ), set1(-kInfinity)));
      F top = m[v], other = m[v];
      int64_t k = lo;
      for (; k + 2 <= hi; k += 2) {
        top = max(load(sv + k * kBQ), top);
        other = max(load(sv + (k + 1) * kBQ), other);
      }
      if (k < hi) top = max(load(sv + k * kBQ), top);
      top = max(top, other);
      const F base = max(top, set1(-1e30f));  // finite, so that -inf - base is no NaN
      const F factor = exp2(m[v] - base);
      m[v] = top;
      sum[v] = sum[v] * factor;
      store(alpha + v * W, factor);
      softmax_block(a, drop, s, h, q, k0, lo, hi, base, sum[v], sv);
    }
    for (int64_t l = 0; l < kBQ; l += kLanes) {
      const float* v = vp + (k0 + lo) * a.v.token;
      if (first) strip<false, kZero>(dim, hi - lo, v, a.v.token, st + lo * kBQ + l, kBQ, ot + l, kBQ, nullptr);
      else strip<false, kScaleAdd>(dim, hi - lo, v, a.v.token, st + lo * kBQ + l, kBQ, ot + l, kBQ, alpha + l);
    }
    first = false;
  }
  if (first) memset(ot, 0, dim * kBQ * sizeof(float));
  for (int v = 0; v < kVectors; ++v)
    store(alpha + v * W, select(sum[v] > zero(), set1(1.0f) / sum[v], zero()));
  transpose_out(ot, kBQ, nq, dim, alpha, a.out.data + (a.cu_q[s] + q0) * a.out.token + h * a.out.head,
                a.out.token);
  if (a.lse == nullptr) return;
  for (int64_t i = 0; i < nq; ++i) {
    const float total = reinterpret_cast<float*>(sum)[i], top = reinterpret_cast<float*>(m)[i];
    a.lse[h * a.tokens_q + a.cu_q[s] + q0 + i] =
        total > 0 ? top * kLn2 + __builtin_logf(total) : -kInfinity;
  }
}

int64_t forward_floats(int64_t dim) { return 2 * dim * kBQ + kBK * kBQ + 64; }

void zero_rows(Heads<float> x, int64_t heads, int64_t dim, int64_t begin, int64_t end) {
  for (int64_t t = begin; t < end; ++t)
    for (int64_t h = 0; h < heads; ++h)
      memset(x.data + t * x.token + h * x.head, 0, dim * sizeof(float));
}

// Calls visit(s, h, q0) for the units of this thread: all (sequence, head, block of queries) in
// order, cut where the number of visible keys reaches thread / threads of the total.
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
  int64_t at = 0;  // a unit belongs to the thread in whose share its middle lies
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

int64_t attention_workspace_bytes(int64_t head_dim, int threads) {
  return threads * forward_floats(head_dim) * 4;
}

void attention(const Attention& a, void* workspace, ThreadPool& pool) {
  const Drop drop = make_drop(a);
  pool.run([&](int thread) {
    float* w = static_cast<float*>(workspace) + thread * forward_floats(a.head_dim);
    for_units(a, kBQ, thread, pool.size(), [&](int64_t s, int64_t h, int64_t q0) {
      forward_block(a, drop, s, h, q0, w);
    });
    if (thread == 0) {
      const int64_t used = a.sequences ? a.cu_q[a.sequences] : 0;
      zero_rows(a.out, a.heads, a.head_dim, used, a.tokens_q);
      for (int64_t h = 0; h < a.heads && a.lse; ++h)
        for (int64_t t = used; t < a.tokens_q; ++t) a.lse[h * a.tokens_q + t] = -kInfinity;
    }
  });
}

// ---- backward ------------------------------------------------------------------------------

namespace {

struct BackwardWork {
  float *qt, *dot, *dqt;  // [dim][kBQB]: Q^T (times scale log2 e), dO^T, dQ^T
  float *st, *dpt;        // [kBK][kBQB]: S^T then dropped P^T; dP^T then dS^T
  float *lse, *delta;     // [kBQB]: lse * log2 e; sum over d of dO * O
  float* ones;            // [kBQB]
};

int64_t backward_floats(int64_t dim) { return 3 * dim * kBQB + 2 * kBK * kBQB + 3 * kBQB; }

BackwardWork make_work(float* w, int64_t dim) {
  BackwardWork b;
  b.qt = w;
  b.dot = b.qt + dim * kBQB;
  b.dqt = b.dot + dim * kBQB;
  b.st = b.dqt + dim * kBQB;
  b.dpt = b.st + kBK * kBQB;
  b.lse = b.dpt + kBK * kBQB;
  b.delta = b.lse + kBQB;
  b.ones = b.delta + kBQB;
  for (int64_t i = 0; i < kBQB; ++i) b.ones[i] = 1.0f;
  return b;
}

// From S^T and dP^T to the dropped P^T and dS^T, rows [lo, hi), one vector of queries.
HONE_INLINE void gradient_block(const Attention& a, const Drop& drop, int64_t s, int64_t h, I q,
                                int64_t o, bool mask, int64_t k0, int64_t lo, int64_t hi, F lse,
                                F delta, float* st, float* dpt) {
  const F scale = set1(a.scale);
  auto element = [&](int64_t k, bool dropped, U word) __attribute__((always_inline)) {
    F p = exp2(load(st + k * kBQB) - lse), dp = load(dpt + k * kBQB);
    if (mask) p = select(sees(a, o, q, k0 + k), p, zero());
    if (dropped) {
      store(st + k * kBQB, keep(word, drop.threshold, drop.scale, p));
      dp = keep(word, drop.threshold, drop.scale, dp);
    } else {
      store(st + k * kBQB, p);
    }
    store(dpt + k * kBQB, p * (dp - delta) * scale);
  };
  if (!drop.on) {
    for (int64_t k = lo; k < hi; ++k) element(k, false, U{});
    return;
  }
  for (int64_t j = 0; j < 16; ++j) {
    U words[4];
    drop_words(drop, a.sample_ids[s], h, q, k0, j, words);
    for (int w = 0; w < 4; ++w) {
      const int64_t k = w * 16 + j;
      if (k >= lo && k < hi) element(k, true, words[w]);
    }
  }
}

// Queries [q0, q0 + kBQB) of head h: dQ when kQuery, and their part of dK and dV for the keys
// [from, to) when kKeys.
template <bool kQuery, bool kKeys>
void backward_block(const AttentionBackward& b, const Drop& drop, int64_t s, int64_t h, int64_t q0,
                    int64_t from, int64_t to, const BackwardWork& w) {
  const Attention& a = b.forward;
  const int64_t dim = a.head_dim, lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
  const int64_t o = lk - lq, nq = min_of(kBQB, lq - q0), hk = h / (a.heads / a.kv_heads);
  Range keys = visible(a, lq, lk, q0, nq);
  keys = {max_of(keys.begin, from), min_of(keys.end, to)};
  const int64_t tq = a.cu_q[s] + q0;
  float* dq = kQuery ? b.dq.data + tq * b.dq.token + h * b.dq.head : nullptr;
  if (keys.begin >= keys.end) {
    for (int64_t i = 0; kQuery && i < nq; ++i) memset(dq + i * b.dq.token, 0, dim * sizeof(float));
    return;
  }
  const float* qp = a.q.data + tq * a.q.token + h * a.q.head;
  const float* op = a.out.data + tq * a.out.token + h * a.out.head;
  const float* dop = b.dout.data + tq * b.dout.token + h * b.dout.head;
  const float* kp = a.k.data + a.cu_k[s] * a.k.token + hk * a.k.head;
  const float* vp = a.v.data + a.cu_k[s] * a.v.token + hk * a.v.head;
  transpose_in(qp, a.q.token, nq, dim, kBQB, a.scale * kLog2E, w.qt);
  transpose_in(dop, b.dout.token, nq, dim, kBQB, 1.0f, w.dot);
  for (int64_t i = 0; i < kBQB; ++i) {
    w.lse[i] = kInfinity;  // lanes without a query get P = 0
    w.delta[i] = 0;
    if (i >= nq) continue;
    F sum = zero();
    for (int64_t d = 0; d < dim; d += W)
      sum = fma(load_n(dop + i * b.dout.token + d, dim - d), load_n(op + i * a.out.token + d, dim - d), sum);
    w.delta[i] = reduce_add(sum);
    const float lse = a.lse[h * a.tokens_q + tq + i];
    if (lse > -kInfinity) w.lse[i] = lse * kLog2E;
  }
  const I index = lane_index() + set1(static_cast<int32_t>(q0));
  bool first[kBQB / kGroup];
  for (bool& f : first) f = true;
  for (int64_t k0 = keys.begin / kBK * kBK; k0 < keys.end; k0 += kBK) {
    const int64_t block_lo = max_of<int64_t>(0, keys.begin - k0), block_hi = min_of(kBK, keys.end - k0);
    for (int64_t g = 0; g * kGroup < nq; ++g) {
      const int64_t gq = g * kGroup, gn = min_of(kGroup, nq - gq);
      const Range seen = visible(a, lq, lk, q0 + gq, gn);
      // whole tiles of rows from a multiple of kRows, so that dK and dV find every row they use
      const int64_t lo = max_of(block_lo / kRows * kRows,
                                max_of<int64_t>(0, seen.begin - k0) / kRows * kRows);
      const int64_t hi = min_of(block_hi, max_of<int64_t>(0, (seen.end - k0 + kRows - 1) / kRows * kRows));
      if (lo >= hi) continue;
      const bool mask = needs_mask(a, o, q0 + gq, gn, k0 + lo, hi - lo);
      for (int64_t l = gq; l < gq + kGroup; l += kLanes) {
        strip<true, kZero>(hi - lo, dim, kp + (k0 + lo) * a.k.token, a.k.token, w.qt + l, kBQB,
                           w.st + lo * kBQB + l, kBQB, nullptr);
        strip<true, kZero>(hi - lo, dim, vp + (k0 + lo) * a.v.token, a.v.token, w.dot + l, kBQB,
                           w.dpt + lo * kBQB + l, kBQB, nullptr);
        for (int64_t v = l; v < l + kLanes; v += W)
          gradient_block(a, drop, s, h, index + set1(static_cast<int32_t>(v)), o, mask, k0, lo, hi,
                         load(w.lse + v), load(w.delta + v), w.st + v, w.dpt + v);
        if constexpr (kQuery) {
          const float* k = kp + (k0 + lo) * a.k.token;
          if (first[g]) strip<false, kZero>(dim, hi - lo, k, a.k.token, w.dpt + lo * kBQB + l, kBQB, w.dqt + l, kBQB, nullptr);
          else strip<false, kAdd>(dim, hi - lo, k, a.k.token, w.dpt + lo * kBQB + l, kBQB, w.dqt + l, kBQB, nullptr);
        }
      }
      first[g] = false;
    }
    if constexpr (kKeys) {
      float* dk = b.dk.data + (a.cu_k[s] + k0) * b.dk.token + hk * b.dk.head;
      float* dv = b.dv.data + (a.cu_k[s] + k0) * b.dv.token + hk * b.dv.head;
      for (int64_t r = block_lo / kRows * kRows; r < block_hi; r += kRows) {
        const int64_t n = min_of<int64_t>(kRows, block_hi - r);
        // queries that see some key of these rows
        int64_t i0 = a.causal ? max_of<int64_t>(0, k0 + r - o - q0) : 0, i1 = nq;
        if (a.window > 0) i1 = min_of(i1, k0 + r + n - 1 - o + a.window - q0);
        if (i0 >= i1) continue;
        const float *p = w.st + r * kBQB + i0, *ds = w.dpt + r * kBQB + i0;
        if (n == kRows) {
          add_rows<kRows>(dim, i1 - i0, p, kBQB, dop + i0 * b.dout.token, b.dout.token, dv + r * b.dv.token, b.dv.token);
          add_rows<kRows>(dim, i1 - i0, ds, kBQB, qp + i0 * a.q.token, a.q.token, dk + r * b.dk.token, b.dk.token);
        } else {
          for (int64_t x = 0; x < n; ++x) {
            add_rows<1>(dim, i1 - i0, p + x * kBQB, kBQB, dop + i0 * b.dout.token, b.dout.token, dv + (r + x) * b.dv.token, b.dv.token);
            add_rows<1>(dim, i1 - i0, ds + x * kBQB, kBQB, qp + i0 * a.q.token, a.q.token, dk + (r + x) * b.dk.token, b.dk.token);
          }
        }
      }
    }
  }
  if constexpr (kQuery) {
    for (int64_t g = 0; g * kGroup < nq; ++g)
      if (first[g])
        for (int64_t d = 0; d < dim; ++d) memset(w.dqt + d * kBQB + g * kGroup, 0, kGroup * sizeof(float));
    transpose_out(w.dqt, kBQB, nq, dim, w.ones, dq, b.dq.token);
  }
}

HONE_INLINE int64_t pairs(const Attention& a, int64_t lq, int64_t lk) {  // about q x k work
  int64_t c = 0;
  for (int64_t q0 = 0; q0 < lq; q0 += kBQB) {
    const Range r = visible(a, lq, lk, q0, min_of(kBQB, lq - q0));
    c += r.end - r.begin + 32;
  }
  return c;
}

}  // namespace

int64_t attention_backward_workspace_bytes(int64_t head_dim, int threads) {
  return threads * backward_floats(head_dim) * 4;
}

void attention_backward(const AttentionBackward& b, void* workspace, ThreadPool& pool) {
  const Attention& a = b.forward;
  const Drop drop = make_drop(a);
  const int64_t group = a.heads / a.kv_heads;
  const int threads = pool.size();
  int64_t total = 0, largest = 0;
  for (int64_t s = 0; s < a.sequences; ++s) {
    const int64_t c = group * pairs(a, a.cu_q[s + 1] - a.cu_q[s], a.cu_k[s + 1] - a.cu_k[s]);
    total += c * a.kv_heads;
    largest = max_of(largest, c);
  }
  // One visit per (sequence, key head) makes everything from five products. When there are too few
  // of those for the threads, dQ is made per block of queries and dK, dV per block of keys (seven
  // products). Both add in the same order: the same bits.
  const bool whole = threads == 1 || largest * threads * 4 <= total;
  pool.run([&](int thread) {
    const BackwardWork w = make_work(
        static_cast<float*>(workspace) + thread * backward_floats(a.head_dim), a.head_dim);
    int64_t at = 0;
    if (!whole)
      for_units(a, kBQB, thread, threads, [&](int64_t s, int64_t h, int64_t q0) {
        backward_block<true, false>(b, drop, s, h, q0, 0, INT64_MAX / 2, w);
      });
    for (int64_t s = 0; s < a.sequences; ++s) {
      const int64_t lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
      const int64_t cost = group * pairs(a, lq, lk);
      for (int64_t hk = 0; hk < a.kv_heads; ++hk) {
        const bool mine = total > 0 && (2 * at + cost) * threads / (2 * total) == thread;
        at += cost;
        const int64_t step = whole ? max_of<int64_t>(lk, 1) : kBK;
        int64_t unit = 0;
        for (int64_t k0 = 0; k0 < lk || (whole && k0 == 0); k0 += step, ++unit) {
          // blocks of keys are dealt to threads in turn: causal ones differ in work
          if (whole ? !mine : (unit + hk) % threads != thread) continue;
          const int64_t k1 = min_of(k0 + step, lk), t = a.cu_k[s];
          zero_rows({b.dk.data + hk * b.dk.head, b.dk.token, 0}, 1, a.head_dim, t + k0, t + k1);
          zero_rows({b.dv.data + hk * b.dv.head, b.dv.token, 0}, 1, a.head_dim, t + k0, t + k1);
          for (int64_t h = hk * group; h < (hk + 1) * group; ++h)
            for (int64_t q0 = 0; q0 < lq; q0 += kBQB) {
              if (whole) backward_block<true, true>(b, drop, s, h, q0, 0, INT64_MAX / 2, w);
              else backward_block<false, true>(b, drop, s, h, q0, k0, k1, w);
            }
        }
      }
    }
    if (thread == 0) {
      const int64_t q = a.sequences ? a.cu_q[a.sequences] : 0, k = a.sequences ? a.cu_k[a.sequences] : 0;
      zero_rows(b.dq, a.heads, a.head_dim, q, a.tokens_q);
      zero_rows(b.dk, a.kv_heads, a.head_dim, k, a.tokens_k);
      zero_rows(b.dv, a.kv_heads, a.head_dim, k, a.tokens_k);
    }
  });
}

// ---- paged decoding ------------------------------------------------------------------------

int64_t paged_attention_workspace_bytes(const PagedAttention& a, int threads) {
  return 4 * threads * (a.page + 15) / 16 * 16;
}

void paged_attention(const PagedAttention& a, void* workspace, ThreadPool& pool) {
  const int64_t group = a.heads / a.kv_heads, dim = a.head_dim;
  pool.parallel_for(a.sequences * a.heads, [&](int64_t begin, int64_t end, int thread) {
    float* p = static_cast<float*>(workspace) + thread * ((a.page + 15) / 16 * 16);
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t s = unit / a.heads, h = unit % a.heads, hk = h / group, length = a.kv_length[s];
      for (int64_t t = a.cu_q[s]; t < a.cu_q[s + 1]; ++t) {
        const float* q = a.q.data + t * a.q.token + h * a.q.head;
        float* out = a.out.data + t * a.out.token + h * a.out.head;
        memset(out, 0, dim * sizeof(float));
        const int64_t last = length - (a.cu_q[s + 1] - t);  // own place in the sequence
        const int64_t first = a.window > 0 ? max_of<int64_t>(0, last - a.window + 1) : 0;
        float top = -1e30f, sum = 0;
        for (int64_t k0 = first / a.page * a.page; k0 <= last; k0 += a.page) {
          const int64_t lo = max_of(first, k0) - k0, hi = min_of(k0 + a.page, last + 1) - k0;
          const int64_t page = a.block_table[s * a.blocks + k0 / a.page] * a.page_stride;
          const float* k = a.k.data + page + hk * a.k.head;
          const float* v = a.v.data + page + hk * a.v.head;
          float high = top;
          for (int64_t j = lo; j < hi; ++j) {
            F dot = zero();
            for (int64_t d = 0; d < dim; d += W)
              dot = fma(load_n(q + d, dim - d), load_n(k + j * a.k.token + d, dim - d), dot);
            p[j] = reduce_add(dot) * (a.scale * kLog2E);
            high = max_of(high, p[j]);
          }
          const float factor = exp2(set1(top - high))[0];
          top = high;
          sum *= factor;
          for (int64_t j = lo; j < hi; j += W) {
            const F e = exp2(load_n(p + j, hi - j) - set1(high));
            store_n(p + j, e, hi - j);
          }
          for (int64_t j = lo; j < hi; ++j) sum += p[j];
          for (int64_t d = 0; d < dim; d += W) {
            F acc = load_n(out + d, dim - d) * set1(factor);
            for (int64_t j = lo; j < hi; ++j)
              acc = fma(set1(p[j]), load_n(v + j * a.v.token + d, dim - d), acc);
            store_n(out + d, acc, dim - d);
          }
        }
        const F inverse = set1(sum > 0 ? 1.0f / sum : 0.0f);
        for (int64_t d = 0; d < dim; d += W)
          store_n(out + d, load_n(out + d, dim - d) * inverse, dim - d);
        if (a.lse)
          a.lse[h * a.tokens_q + t] =
              sum > 0 ? top / kLog2E + __builtin_logf(sum) : -__builtin_inff();
      }
    }
  });
}

}  // namespace hone::cpu::HONE_ISA
