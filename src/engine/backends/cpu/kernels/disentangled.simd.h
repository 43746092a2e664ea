// Disentangled attention, with the tiles of attention_blocks.simd.h. A unit of work is one head of one sequence. It is
// computed in blocks of kBQ queries. Vector lanes are queries: S^T[key][query]. Products with the position tables are
// computed first. The score of a query and a key then adds one element of each product, at the pair's row:
//   by_key     K position_queries^T [key][row], once for each unit
//   by_query   position_keys Q^T [row][query], once for each block
// The backward pass sums the gradients of both products by row before it multiplies them.
#include "engine/backends/cpu/kernels/attention_blocks.simd.h"
#include "engine/backends/cpu/kernels/disentangled.h"

namespace hone::cpu::HONE_ISA {
namespace {

// The sequences are split into this number of parts. Position gradients are summed for each head and part. The split
// depends on the sequences' lengths alone.
constexpr int64_t kPositionParts = 2;

HONE_INLINE int64_t up_to(int64_t n, int64_t step) { return (n + step - 1) / step * step; }

// Scratch memory of a thread, in floats.
struct PositionWork {
  float* positions;         // [dim][row_lanes]: position_queries^T of a head, times scale log2 e
  float *by_key, *dby_key;  // [tokens][row_lanes]
  float *by_query, *dby_query;  // [rows][kBQ]
  float *st, *dpt;              // [tokens][kBQ]
  float *qt, *dot, *dqt;        // [dim][kBQ]: Q^T, dO^T, dQ^T; dqt is out^T in the forward pass
  float* keys;                  // [tokens][wide]: the rows of K, padded
  float *lse, *delta, *ones;    // [kBQ]
  int32_t* index;               // [2 * tokens]: see position_unit()
  int64_t row_lanes, wide;
};

int64_t row_lanes(const Disentangled& a) { return up_to(a.rows, kLanes) + kLanes; }
int64_t wide_dim(const Disentangled& a) { return up_to(a.head_dim, kLanes); }

int64_t position_floats(const Disentangled& a, bool backward) {
  const int64_t of_keys = a.tokens * row_lanes(a), of_queries = a.rows * kBQ;
  const int64_t once = a.head_dim * row_lanes(a) + of_keys + of_queries + a.tokens * kBQ +
                       2 * a.head_dim * kBQ + 3 * kBQ + 2 * a.tokens;
  const int64_t more =
      of_keys + of_queries + a.tokens * kBQ + a.head_dim * kBQ + a.tokens * wide_dim(a);
  return up_to(once + (backward ? more : 0), 16);
}

PositionWork position_work(const Disentangled& a, float* at, bool backward) {
  PositionWork w = {};
  auto take = [&](int64_t count) {
    float* taken = at;
    at += count;
    return taken;
  };
  w.row_lanes = row_lanes(a);
  w.wide = wide_dim(a);
  w.positions = take(a.head_dim * w.row_lanes);
  w.by_key = take(a.tokens * w.row_lanes);
  w.by_query = take(a.rows * kBQ);
  w.st = take(a.tokens * kBQ);
  w.qt = take(a.head_dim * kBQ);
  w.dqt = take(a.head_dim * kBQ);
  w.lse = take(kBQ);
  w.delta = take(kBQ);
  w.ones = take(kBQ);
  w.index = reinterpret_cast<int32_t*>(take(2 * a.tokens));
  if (!backward) return w;
  w.dby_key = take(a.tokens * w.row_lanes);
  w.dby_query = take(a.rows * kBQ);
  w.dpt = take(a.tokens * kBQ);
  w.dot = take(a.head_dim * kBQ);
  w.keys = take(a.tokens * w.wide);
  for (int64_t i = 0; i < kBQ; ++i) w.ones[i] = 1.0f;
  return w;
}

// A head of a sequence.
struct PositionUnit {
  int64_t sequence, head, length, stride;
  // The rows of the position tables that it uses: [first, first + count). lanes: count rounded up to kLanes.
  int64_t first, count, lanes;
  const float *q, *k, *v, *position_keys, *position_queries;
};

HONE_INLINE const float* at_head(const float* rows, int64_t row, int64_t stride, int64_t column) {
  return rows ? rows + row * stride + column : nullptr;
}

// Describes head h of sequence s, and fills in its index: index[i - j + length - 1] is the row of query i and key j,
// counted from the unit's first row.
PositionUnit position_unit(const Disentangled& a, int64_t s, int64_t h, int32_t* index) {
  PositionUnit u = {};
  u.sequence = s;
  u.head = h;
  u.length = a.cu[s + 1] - a.cu[s];
  u.stride = a.heads * a.head_dim;
  int32_t lowest = INT32_MAX, highest = 0;
  for (int64_t x = 0; x < 2 * u.length - 1; ++x) {
    index[x] = a.row_of[x + a.reach - u.length];
    lowest = min_of(lowest, index[x]);
    highest = max_of(highest, index[x]);
  }
  for (int64_t x = 0; x < 2 * u.length - 1; ++x) index[x] -= lowest;
  u.first = u.length > 0 ? lowest : 0;
  u.count = u.length > 0 ? highest - lowest + 1 : 0;
  u.lanes = up_to(u.count, kLanes);
  const int64_t column = h * a.head_dim;
  u.q = at_head(a.q, a.cu[s], u.stride, column);
  u.k = at_head(a.k, a.cu[s], u.stride, column);
  u.v = at_head(a.v, a.cu[s], u.stride, column);
  u.position_keys = at_head(a.position_keys, u.first, u.stride, column);
  u.position_queries = at_head(a.position_queries, u.first, u.stride, column);
  return u;
}

// Writes position_queries^T of head h to w.positions.
void turn_positions(const Disentangled& a, int64_t h, const PositionWork& w) {
  if (a.position_queries)
    transpose_in(a.position_queries + h * a.head_dim, a.heads * a.head_dim, a.rows, a.head_dim,
                 w.row_lanes, a.scale * kLog2E, w.positions);
}

void products_by_key(const Disentangled& a, const PositionUnit& u, const PositionWork& w) {
  if (!u.position_queries) return;
  for (int64_t l = 0; l < u.lanes; l += kLanes)
    strip<true, kZero>(u.length, a.head_dim, u.k, u.stride, w.positions + u.first + l, w.row_lanes,
                       w.by_key + l, w.row_lanes, nullptr);
}

// Computes S^T of queries [q0, q0 + nq), times log2 e. In lanes after the last query, Q counts as 0.
void scores_of_block(const Disentangled& a, const PositionUnit& u, int64_t q0, int64_t nq,
                     const PositionWork& w) {
  transpose_in(u.q + q0 * u.stride, u.stride, nq, a.head_dim, kBQ, a.scale * kLog2E, w.qt);
  for (int64_t l = 0; l < kBQ; l += kLanes) {
    strip<true, kZero>(u.length, a.head_dim, u.k, u.stride, w.qt + l, kBQ, w.st + l, kBQ, nullptr);
    if (u.position_keys)
      strip<true, kZero>(u.count, a.head_dim, u.position_keys, u.stride, w.qt + l, kBQ,
                         w.by_query + l, kBQ, nullptr);
  }
  for (int64_t k = 0; k < u.length; ++k) {
    float* st = w.st + k * kBQ;
    const int32_t* row = w.index + q0 - k + u.length - 1;
    if (u.position_keys)
      for (int64_t i = 0; i < nq; ++i) st[i] += w.by_query[row[i] * kBQ + i];
    const float* of_key = w.by_key + k * w.row_lanes;
    if (u.position_queries)
      for (int64_t i = 0; i < nq; ++i) st[i] += of_key[row[i]];
  }
}

// Calls visit(k, word) for each key k of the sequence. word: the dropout words of key k for a vector of queries q.
template <class Fn>
HONE_INLINE void with_words(const Disentangled& a, const Drop& drop, const PositionUnit& u, I q,
                            Fn&& visit) {
  for (int64_t k0 = 0; k0 < u.length; k0 += kBK)
    for (int64_t j = 0; j < 16; ++j) {
      U words[4];
      drop_words(drop, a.sample_ids[u.sequence], u.head, q, k0, j, words);
      for (int w = 0; w < 4; ++w)
        if (k0 + w * 16 + j < u.length) visit(k0 + w * 16 + j, words[w]);
    }
}

void position_forward(const Disentangled& a, const Drop& drop, const PositionUnit& u, int64_t q0,
                      const PositionWork& w) {
  const int64_t nq = min_of(kBQ, u.length - q0), t = a.cu[u.sequence] + q0;
  scores_of_block(a, u, q0, nq, w);
  float tops[kBQ], sums[kBQ];
  for (int64_t v = 0; v < kBQ; v += W) {
    float* st = w.st + v;
    F top = load(st);
    for (int64_t k = 1; k < u.length; ++k) top = max(top, load(st + k * kBQ));
    F sum = zero();
    for (int64_t k = 0; k < u.length; ++k) {
      const F p = exp2(load(st + k * kBQ) - top);
      sum = sum + p;
      store(st + k * kBQ, p);
    }
    if (drop.on)
      with_words(
          a, drop, u, lane_index() + set1(static_cast<int32_t>(q0 + v)),
          [&](int64_t k, U word) __attribute__((always_inline)) {
            store(st + k * kBQ, keep(word, drop.threshold, drop.scale, load(st + k * kBQ)));
          });
    store(tops + v, top);
    store(sums + v, sum);
    store(w.delta + v, set1(1.0f) / sum);
  }
  for (int64_t l = 0; l < kBQ; l += kLanes)
    strip<false, kZero>(a.head_dim, u.length, u.v, u.stride, w.st + l, kBQ, w.dqt + l, kBQ,
                        nullptr);
  transpose_out(w.dqt, kBQ, nq, a.head_dim, w.delta, a.out + t * u.stride + u.head * a.head_dim,
                u.stride);
  for (int64_t i = 0; i < nq; ++i)
    a.lse[u.head * a.tokens + t + i] = tops[i] * kLn2 + __builtin_logf(sums[i]);
}

// c[rows][columns] += the sum over x in [0, depth) of a[r * as + x] * b[x][columns].
HONE_INLINE void add_all_rows(int64_t rows, int64_t columns, int64_t depth, const float* a,
                              int64_t as, const float* b, int64_t bs, float* c, int64_t cs) {
  int64_t r = 0;
  for (; r + kRows <= rows; r += kRows)
    add_rows<kRows>(columns, depth, a + r * as, as, b, bs, c + r * cs, cs);
  for (; r < rows; ++r) add_rows<1>(columns, depth, a + r * as, as, b, bs, c + r * cs, cs);
}

// Replaces S^T by P^T after dropout, and dP^T by dS^T.
void position_gradients(const Disentangled& a, const Drop& drop, const PositionUnit& u, int64_t q0,
                        const PositionWork& w) {
  const F scale = set1(a.scale);
  for (int64_t v = 0; v < kBQ; v += W) {
    const F lse = load(w.lse + v), delta = load(w.delta + v);
    float *st = w.st + v, *dpt = w.dpt + v;
    auto element = [&](int64_t k, F p, F kept, F dp) __attribute__((always_inline)) {
      store(st + k * kBQ, kept);
      store(dpt + k * kBQ, p * (dp - delta) * scale);
    };
    if (!drop.on) {
      for (int64_t k = 0; k < u.length; ++k) {
        const F p = exp2(load(st + k * kBQ) - lse);
        element(k, p, p, load(dpt + k * kBQ));
      }
      continue;
    }
    with_words(
        a, drop, u, lane_index() + set1(static_cast<int32_t>(q0 + v)),
        [&](int64_t k, U word) __attribute__((always_inline)) {
          const F p = exp2(load(st + k * kBQ) - lse);
          element(k, p, keep(word, drop.threshold, drop.scale, p),
                  keep(word, drop.threshold, drop.scale, load(dpt + k * kBQ)));
        });
  }
}

// The gradients of position_keys and position_queries, summed for one head and part; [rows][wide] each.
struct PositionSums {
  float *keys, *queries;
};

// Computes dQ of queries [q0, q0 + kBQ), and adds the terms of these queries to all other gradients.
void position_backward(const DisentangledBackward& b, const Drop& drop, const PositionUnit& u,
                       int64_t q0, const PositionWork& w, const PositionSums& sums) {
  const Disentangled& a = b.forward;
  const int64_t dim = a.head_dim, nq = min_of(kBQ, u.length - q0), t = a.cu[u.sequence] + q0;
  const int64_t at = t * u.stride + u.head * dim,
                first = a.cu[u.sequence] * u.stride + u.head * dim;
  scores_of_block(a, u, q0, nq, w);
  transpose_in(b.dout + at, u.stride, nq, dim, kBQ, 1.0f, w.dot);
  for (int64_t i = 0; i < kBQ; ++i) {
    w.lse[i] = kInfinity;  // lanes without a query get P = 0
    w.delta[i] = 0;
    if (i >= nq) continue;
    F sum = zero();
    for (int64_t d = 0; d < dim; d += W)
      sum = fma(load_n(b.dout + at + i * u.stride + d, dim - d),
                load_n(a.out + at + i * u.stride + d, dim - d), sum);
    w.delta[i] = reduce_add(sum);
    w.lse[i] = a.lse[u.head * a.tokens + t + i] * kLog2E;
  }
  for (int64_t l = 0; l < kBQ; l += kLanes)
    strip<true, kZero>(u.length, dim, u.v, u.stride, w.dot + l, kBQ, w.dpt + l, kBQ, nullptr);
  position_gradients(a, drop, u, q0, w);
  const float* q = u.q + q0 * u.stride;
  add_all_rows(u.length, dim, nq, w.st, kBQ, b.dout + at, u.stride, b.dv + first, u.stride);
  add_all_rows(u.length, dim, nq, w.dpt, kBQ, q, u.stride, b.dk + first, u.stride);
  for (int64_t l = 0; l < kBQ; l += kLanes)
    strip<false, kZero>(dim, u.length, u.k, u.stride, w.dpt + l, kBQ, w.dqt + l, kBQ, nullptr);
  if (u.position_keys) memset(w.dby_query, 0, u.count * kBQ * sizeof(float));
  for (int64_t k = 0; k < u.length; ++k) {
    const float* ds = w.dpt + k * kBQ;
    const int32_t* row = w.index + q0 - k + u.length - 1;
    if (u.position_keys)
      for (int64_t i = 0; i < nq; ++i) w.dby_query[row[i] * kBQ + i] += ds[i];
    float* of_key = w.dby_key + k * w.row_lanes;
    if (u.position_queries)
      for (int64_t i = 0; i < nq; ++i) of_key[row[i]] += ds[i];
  }
  if (u.position_keys) {
    for (int64_t l = 0; l < kBQ; l += kLanes)
      strip<false, kAdd>(dim, u.count, u.position_keys, u.stride, w.dby_query + l, kBQ, w.dqt + l,
                         kBQ, nullptr);
    add_all_rows(u.count, dim, nq, w.dby_query, kBQ, q, u.stride, sums.keys + u.first * w.wide,
                 w.wide);
  }
  transpose_out(w.dqt, kBQ, nq, dim, w.ones, b.dq + at, u.stride);
}

// Computes the gradients of head h of sequence s.
void position_unit_backward(const DisentangledBackward& b, const Drop& drop, int64_t s, int64_t h,
                            const PositionWork& w, const PositionSums& sums) {
  const Disentangled& a = b.forward;
  const PositionUnit u = position_unit(a, s, h, w.index);
  const int64_t dim = a.head_dim, first = a.cu[s] * u.stride + h * dim;
  products_by_key(a, u, w);
  zero_rows({b.dk + h * dim, u.stride, 0}, 1, dim, a.cu[s], a.cu[s + 1]);
  zero_rows({b.dv + h * dim, u.stride, 0}, 1, dim, a.cu[s], a.cu[s + 1]);
  if (u.position_queries)
    for (int64_t k = 0; k < u.length; ++k)
      memset(w.dby_key + k * w.row_lanes, 0, u.lanes * sizeof(float));
  for (int64_t q0 = 0; q0 < u.length; q0 += kBQ) position_backward(b, drop, u, q0, w, sums);
  if (!u.position_queries || u.length == 0) return;
  add_all_rows(u.length, dim, u.count, w.dby_key, w.row_lanes, u.position_queries, u.stride,
               b.dk + first, u.stride);
  memset(w.keys, 0, u.length * w.wide * sizeof(float));
  copy_rows(u.k, u.stride, u.length, dim, w.keys, w.wide);
  for (int64_t l = 0; l < w.wide; l += kLanes)
    strip<false, kAdd>(u.count, u.length, w.dby_key, w.row_lanes, w.keys + l, w.wide,
                       sums.queries + u.first * w.wide + l, w.wide, nullptr);
}

// The part of a sequence, chosen by the position of its middle among all tokens.
HONE_INLINE int64_t part_of(const Disentangled& a, int64_t s) {
  const int64_t all = max_of<int64_t>(a.cu[a.sequences], 1);
  return min_of((a.cu[s] + a.cu[s + 1]) * kPositionParts / (2 * all), kPositionParts - 1);
}

int64_t part_floats(const Disentangled& a) { return 2 * a.rows * wide_dim(a); }

// Writes the gradient [rows, heads * head_dim]: the sums of all parts, added in order. which: 0 position_keys, 1
// position_queries.
void join_parts(const Disentangled& a, const float* parts, int64_t which, ThreadPool& pool,
                float* to) {
  const int64_t stride = a.heads * a.head_dim, wide = wide_dim(a);
  pool.parallel_for(a.heads, [&](int64_t begin, int64_t end, int) {
    for (int64_t h = begin; h < end; ++h)
      for (int64_t r = 0; r < a.rows; ++r) {
        const float* first =
            parts + h * kPositionParts * part_floats(a) + (which * a.rows + r) * wide;
        for_vectors(
            0, a.head_dim, HONE_VECTOR {
              F sum = get(first + i, whole, n);
              for (int64_t p = 1; p < kPositionParts; ++p)
                sum = sum + get(first + p * part_floats(a) + i, whole, n);
              put(to + r * stride + h * a.head_dim + i, sum, whole, n);
            });
      }
  });
}

}  // namespace

int64_t disentangled_workspace_bytes(const Disentangled& a, int threads) {
  return threads * position_floats(a, false) * 4;
}

void disentangled(const Disentangled& a, void* workspace, ThreadPool& pool) {
  const Drop drop = make_drop(a, a.first_head);
  const int64_t units = a.heads * a.sequences, stride = a.heads * a.head_dim;
  pool.parallel_for(units, [&](int64_t begin, int64_t end, int thread) {
    const PositionWork w = position_work(
        a, static_cast<float*>(workspace) + thread * position_floats(a, false), false);
    for (int64_t x = begin; x < end; ++x) {
      const int64_t h = x / a.sequences, s = x % a.sequences;
      if (x == begin || s == 0) turn_positions(a, h, w);
      const PositionUnit u = position_unit(a, s, h, w.index);
      products_by_key(a, u, w);
      for (int64_t q0 = 0; q0 < u.length; q0 += kBQ) position_forward(a, drop, u, q0, w);
    }
  });
  const int64_t used = a.sequences ? a.cu[a.sequences] : 0;
  memset(a.out + used * stride, 0, (a.tokens - used) * stride * sizeof(float));
  for (int64_t h = 0; h < a.heads; ++h)
    for (int64_t t = used; t < a.tokens; ++t) a.lse[h * a.tokens + t] = -kInfinity;
}

int64_t disentangled_backward_workspace_bytes(const Disentangled& a, int threads) {
  return (threads * position_floats(a, true) + a.heads * kPositionParts * part_floats(a)) * 4;
}

void disentangled_backward(const DisentangledBackward& b, void* workspace, ThreadPool& pool) {
  const Disentangled& a = b.forward;
  const Drop drop = make_drop(a, a.first_head);
  const int64_t stride = a.heads * a.head_dim;
  float* works = static_cast<float*>(workspace);
  float* parts = works + pool.size() * position_floats(a, true);
  pool.parallel_for(a.heads * kPositionParts, [&](int64_t begin, int64_t end, int thread) {
    const PositionWork w = position_work(a, works + thread * position_floats(a, true), true);
    for (int64_t x = begin; x < end; ++x) {
      const int64_t h = x / kPositionParts, p = x % kPositionParts;
      if (x == begin || p == 0) turn_positions(a, h, w);
      float* sums = parts + x * part_floats(a);
      memset(sums, 0, part_floats(a) * sizeof(float));
      for (int64_t s = 0; s < a.sequences; ++s)
        if (part_of(a, s) == p)
          position_unit_backward(b, drop, s, h, w, {sums, sums + a.rows * w.wide});
    }
  });
  if (b.dposition_keys) join_parts(a, parts, 0, pool, b.dposition_keys);
  if (b.dposition_queries) join_parts(a, parts, 1, pool, b.dposition_queries);
  const int64_t used = a.sequences ? a.cu[a.sequences] : 0;
  for (float* rows : {b.dq, b.dk, b.dv})
    memset(rows + used * stride, 0, (a.tokens - used) * stride * sizeof(float));
}

}  // namespace hone::cpu::HONE_ISA
