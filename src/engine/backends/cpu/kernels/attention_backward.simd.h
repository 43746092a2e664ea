// Attention: the backward pass. attention_blocks.simd.h explains the method.
#include "engine/backends/cpu/kernels/attention_blocks.simd.h"

namespace hone::cpu::HONE_ISA {

// ---- backward ------------------------------------------------------------------------------

namespace {

struct BackwardWork {
  float *qt, *dot, *dqt;  // [dim][kBQB]: Q^T (times scale log2 e), dO^T, dQ^T
  float *q, *dout;        // [kBQB][dim]: the rows of Q and dO
  float *st, *dpt;        // [kBK][kBQB]: S^T, later P^T after dropout; dP^T, later dS^T
  float *lse, *delta;     // [kBQB]: lse * log2 e; sum over d of dO * O
  float* ones;            // [kBQB]
  float* bias;            // see bias_row
  float *keys, *dkeys;    // [2][packed_floats]: K and V, see key_rows; dK and dV
};

int64_t backward_floats(const Attention& a) {
  return 5 * a.head_dim * kBQB + 2 * kBK * kBQB + 3 * kBQB + bias_lanes(a) + 4 * packed_floats(a);
}

// The gradient of the bias is the sum of dS along diagonals. Its order of addition must not depend on the
// threads. So the keys of a sequence are cut into at most kParts parts; the cut depends only on the number of keys.
// Each head, sequence and part has sums of its own. Along a diagonal, queries and keys grow together, so the
// order also does not depend on which loop is the outer one. The sum of diagonal j - i of a part is at
// [j - from - i + (lq rounded up to kBQB)], where `from` is the part's first key.
constexpr int64_t kParts = 4;

HONE_INLINE int64_t part_keys(int64_t lk) {
  return max_of(kBK, (lk + kParts * kBK - 1) / (kParts * kBK) * kBK);
}
HONE_INLINE int64_t padded(int64_t lq) { return (lq + kBQB - 1) / kBQB * kBQB; }
HONE_INLINE int64_t part_sums(int64_t lq, int64_t keys) { return keys + padded(lq); }
HONE_INLINE int64_t sequence_sums(int64_t lq, int64_t lk) {
  int64_t n = 0;
  for (int64_t k = 0; k < lk; k += part_keys(lk)) n += part_sums(lq, min_of(part_keys(lk), lk - k));
  return n;
}
// Floats of the sums of one head. A sequence has at most kParts parts, but only one if it has at most kBK keys.
int64_t head_sums(const Attention& a) {
  const int64_t parts = min_of(kParts * a.sequences, a.sequences + a.tokens_k / kBK);
  return (a.tokens_k + kParts * a.tokens_q + parts * kBQB + 15) / 16 * 16;
}

// Adds the dS^T of keys [lo, hi) and the kLanes queries at ds to the sums of their diagonals. sums: the place of the
// diagonal of key 0 and the first query. A vector holds the partial sums of W diagonals; after each key, the sum in
// its last lane is complete.
void add_diagonals(const float* ds, int64_t lo, int64_t hi, float* sums) {
  F one = zero(), two = zero();
  I up = lane_index() - set1(1);
  up[0] = 0;
  const I fresh = lane_index() == set1(0);
  auto shift = [&](F x) __attribute__((always_inline)) {
    return select(fresh, zero(), __builtin_shuffle(x, up));
  };
  for (int64_t k = lo; k < hi; ++k) {
    one = shift(one) + load(ds + k * kBQB);
    two = shift(two) + load(ds + k * kBQB + W);
    sums[k - (W - 1)] += one[W - 1];
    sums[k - (2 * W - 1)] += two[W - 1];
  }
  for (int64_t l = 0; l < W - 1; ++l) sums[hi - 1 - l] += one[l];
  for (int64_t l = 0; l < W - 1; ++l) sums[hi - 1 - W - l] += two[l];
}

BackwardWork make_work(float* w, const Attention& a) {
  const int64_t dim = a.head_dim;
  BackwardWork b;
  b.qt = w;
  b.dot = b.qt + dim * kBQB;
  b.dqt = b.dot + dim * kBQB;
  b.q = b.dqt + dim * kBQB;
  b.dout = b.q + dim * kBQB;
  b.st = b.dout + dim * kBQB;
  b.dpt = b.st + kBK * kBQB;
  b.lse = b.dpt + kBK * kBQB;
  b.delta = b.lse + kBQB;
  b.ones = b.delta + kBQB;
  b.bias = b.ones + kBQB;
  b.keys = b.bias + bias_lanes(a);
  b.dkeys = b.keys + 2 * packed_floats(a);
  for (int64_t i = 0; i < kBQB; ++i) b.ones[i] = 1.0f;
  return b;
}

// The sums of dK and dV of a sequence and key head, in the form of KeyRows.
struct KeyGradients {
  float *dk, *dv;
  int64_t dk_row, dv_row;
};

// Replaces S^T by P^T after dropout, and dP^T by dS^T, for rows [lo, hi) and one vector of queries.
HONE_INLINE void gradient_block(const Attention& a, const Drop& drop, int64_t s, int64_t h, I q,
                                int64_t o, bool mask, int64_t k0, int64_t lo, int64_t hi, F lse,
                                F delta, float* st, float* dpt) {
  const F scale = set1(a.scale);
  const bool capped = a.softcap > 0;
  const F inverse = capped ? set1(1.0f / (a.softcap * kLog2E)) : zero();
  auto element = [&](int64_t k, bool dropped, U word) __attribute__((always_inline)) {
    const F score = load(st + k * kBQB);
    F p = exp2(score - lse), dp = load(dpt + k * kBQB), by = scale;
    if (capped) by = fnma(score * inverse, score * inverse, set1(1.0f)) * scale;
    if (mask) p = select(sees(a, o, q, k0 + k), p, zero());
    if (dropped) {
      store(st + k * kBQB, keep(word, drop.threshold, drop.scale, p));
      dp = keep(word, drop.threshold, drop.scale, dp);
    } else {
      store(st + k * kBQB, p);
    }
    store(dpt + k * kBQB, p * (dp - delta) * by);
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

// dbias of head h: adds the sums of all its parts in order, and divides by the scale, because dS contains it.
void finish_bias(const AttentionBackward& b, int64_t h, const float* sums) {
  const Attention& a = b.forward;
  const int64_t columns = 2 * a.reach - 1;
  float* to = b.dbias + h * columns;
  memset(to, 0, columns * sizeof(float));
  for (int64_t s = 0; s < a.sequences; ++s) {
    const int64_t lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
    for (int64_t k = 0; k < lk; k += part_keys(lk)) {
      const int64_t count = part_sums(lq, min_of(part_keys(lk), lk - k));
      const int64_t column = k - padded(lq) - (lk - lq) + a.reach - 1;  // the column of sums[0]
      const int64_t begin = max_of<int64_t>(0, -column), end = min_of(count, columns - column);
      for (int64_t x = begin; x < end; ++x) to[column + x] += sums[x];
      sums += count;
    }
  }
  for (int64_t x = 0; x < columns; ++x) to[x] /= a.scale;
}

// The gradients from queries [q0, q0 + kBQB) of head h. kQuery: computes their dQ. kKeys: adds their part to dK and dV
// of the keys [from, to), and to the diagonal sums of this head and sequence.
template <bool kQuery, bool kKeys>
void backward_block(const AttentionBackward& b, const Drop& drop, int64_t s, int64_t h, int64_t q0,
                    int64_t from, int64_t to, const KeyRows& rows, const KeyGradients& grads,
                    const BackwardWork& w, float* sums) {
  const Attention& a = b.forward;
  const int64_t dim = a.head_dim, lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
  const int64_t o = lk - lq, nq = min_of(kBQB, lq - q0);
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
  copy_rows(qp, a.q.token, nq, dim, w.q, dim);
  copy_rows(dop, b.dout.token, nq, dim, w.dout, dim);
  transpose_in(w.q, dim, nq, dim, kBQB, a.scale * kLog2E, w.qt);
  transpose_in(w.dout, dim, nq, dim, kBQB, 1.0f, w.dot);
  for (int64_t i = 0; i < kBQB; ++i) {
    w.lse[i] = kInfinity;  // lanes without a query get P = 0
    w.delta[i] = 0;
    if (i >= nq) continue;
    F sum = zero();
    for (int64_t d = 0; d < dim; d += W)
      sum = fma(load_n(dop + i * b.dout.token + d, dim - d),
                load_n(op + i * a.out.token + d, dim - d), sum);
    w.delta[i] = reduce_add(sum);
    const float lse = a.lse[h * a.tokens_q + tq + i];
    if (lse > -kInfinity) w.lse[i] = lse * kLog2E;
  }
  if (a.reach > 0) bias_row(a, h, o, q0, kBQB, keys, w.bias);
  const I index = lane_index() + set1(static_cast<int32_t>(q0));
  bool first[kBQB / kGroup];
  for (bool& f : first) f = true;
  for (int64_t k0 = keys.begin / kBK * kBK; k0 < keys.end; k0 += kBK) {
    const int64_t block_lo = max_of<int64_t>(0, keys.begin - k0),
                  block_hi = min_of(kBK, keys.end - k0);
    for (int64_t g = 0; g * kGroup < nq; ++g) {
      const int64_t gq = g * kGroup, gn = min_of(kGroup, nq - gq);
      const Range seen = visible(a, lq, lk, q0 + gq, gn);
      // whole tiles of rows from a multiple of kRows, so that dK and dV find every row they use
      const int64_t lo =
          max_of(block_lo / kRows * kRows, max_of<int64_t>(0, seen.begin - k0) / kRows * kRows);
      const int64_t hi =
          min_of(block_hi, max_of<int64_t>(0, (seen.end - k0 + kRows - 1) / kRows * kRows));
      if (lo >= hi) continue;
      const bool mask = needs_mask(a, o, q0 + gq, gn, k0 + lo, hi - lo);
      for (int64_t l = gq; l < gq + kGroup; l += kLanes) {
        strip<true, kZero>(hi - lo, dim, rows.k + (k0 + lo) * rows.k_row, rows.k_row, w.qt + l,
                           kBQB, w.st + lo * kBQB + l, kBQB, nullptr);
        strip<true, kZero>(hi - lo, dim, rows.v + (k0 + lo) * rows.v_row, rows.v_row, w.dot + l,
                           kBQB, w.dpt + lo * kBQB + l, kBQB, nullptr);
        if (a.softcap > 0) cap_rows(a.softcap, lo, hi, l, kLanes, kBQB, w.st);
        if (a.reach > 0) add_bias(w.bias, keys.end, k0, lo, hi, l, kLanes, kBQB, w.st);
        for (int64_t v = l; v < l + kLanes; v += W)
          gradient_block(a, drop, s, h, index + set1(static_cast<int32_t>(v)), o, mask, k0, lo, hi,
                         load(w.lse + v), load(w.delta + v), w.st + v, w.dpt + v);
        if (kKeys && a.reach > 0) {
          const int64_t part = k0 / part_keys(lk);
          add_diagonals(w.dpt + l, lo, hi,
                        sums + part * part_sums(lq, part_keys(lk)) + k0 - part * part_keys(lk) -
                            (q0 + l) + padded(lq));
        }
        if constexpr (kQuery) {
          const float* k = rows.k + (k0 + lo) * rows.k_row;
          if (first[g])
            strip<false, kZero>(dim, hi - lo, k, rows.k_row, w.dpt + lo * kBQB + l, kBQB, w.dqt + l,
                                kBQB, nullptr);
          else
            strip<false, kAdd>(dim, hi - lo, k, rows.k_row, w.dpt + lo * kBQB + l, kBQB, w.dqt + l,
                               kBQB, nullptr);
        }
      }
      first[g] = false;
    }
    if constexpr (kKeys) {
      float* dk = grads.dk + k0 * grads.dk_row;
      float* dv = grads.dv + k0 * grads.dv_row;
      for (int64_t r = block_lo / kRows * kRows; r < block_hi; r += kRows) {
        const int64_t n = min_of<int64_t>(kRows, block_hi - r);
        // queries that see some key of these rows
        int64_t i0 = a.causal ? max_of<int64_t>(0, k0 + r - o - q0) : 0, i1 = nq;
        if (both_sides(a)) i0 = max_of<int64_t>(0, k0 + r - o - a.window + 1 - q0);
        if (a.window > 0) i1 = min_of(i1, k0 + r + n - 1 - o + a.window - q0);
        if (i0 >= i1) continue;
        const float *p = w.st + r * kBQB + i0, *ds = w.dpt + r * kBQB + i0;
        if (n == kRows) {
          add_rows<kRows>(dim, i1 - i0, p, kBQB, w.dout + i0 * dim, dim, dv + r * grads.dv_row,
                          grads.dv_row);
          add_rows<kRows>(dim, i1 - i0, ds, kBQB, w.q + i0 * dim, dim, dk + r * grads.dk_row,
                          grads.dk_row);
        } else {
          for (int64_t x = 0; x < n; ++x) {
            add_rows<1>(dim, i1 - i0, p + x * kBQB, kBQB, w.dout + i0 * dim, dim,
                        dv + (r + x) * grads.dv_row, grads.dv_row);
            add_rows<1>(dim, i1 - i0, ds + x * kBQB, kBQB, w.q + i0 * dim, dim,
                        dk + (r + x) * grads.dk_row, grads.dk_row);
          }
        }
      }
    }
  }
  if constexpr (kQuery) {
    for (int64_t g = 0; g * kGroup < nq; ++g)
      if (first[g])
        for (int64_t d = 0; d < dim; ++d)
          memset(w.dqt + d * kBQB + g * kGroup, 0, kGroup * sizeof(float));
    transpose_out(w.dqt, kBQB, nq, dim, w.ones, dq, b.dq.token);
  }
}

HONE_INLINE int64_t pairs(const Attention& a, int64_t lq, int64_t lk) {  // a measure of the work
  int64_t c = 0;
  for (int64_t q0 = 0; q0 < lq; q0 += kBQB) {
    const Range r = visible(a, lq, lk, q0, min_of(kBQB, lq - q0));
    c += r.end - r.begin + 32;
  }
  return c;
}

}  // namespace

int64_t attention_backward_workspace_bytes(const Attention& a, int threads) {
  return (threads * backward_floats(a) + (a.reach > 0 ? a.heads * head_sums(a) : 0)) * 4;
}

void attention_backward(const AttentionBackward& b, void* workspace, ThreadPool& pool) {
  const Attention& a = b.forward;
  const Drop drop = make_drop(a, a.first_head);
  const int64_t group = a.heads / a.kv_heads;
  const int threads = pool.size();
  int64_t total = 0, largest = 0;
  for (int64_t s = 0; s < a.sequences; ++s) {
    const int64_t c = group * pairs(a, a.cu_q[s + 1] - a.cu_q[s], a.cu_k[s + 1] - a.cu_k[s]);
    total += c * a.kv_heads;
    largest = max_of(largest, c);
  }
  // One visit per (sequence, key head) makes all gradients from five products. If there are too few
  // such visits for the threads, dQ is made per block of queries, and dK and dV per block of keys
  // (seven products). Both ways add in the same order, so they give the same bits.
  const bool whole = threads == 1 || largest * threads * 4 <= total;
  const bool biased = a.reach > 0;
  float* all_sums = static_cast<float*>(workspace) + threads * backward_floats(a);
  pool.run([&](int thread) {
    const BackwardWork w =
        make_work(static_cast<float*>(workspace) + thread * backward_floats(a), a);
    int64_t at = 0;
    KeyRowsInTurn in_turn(a, w.keys);
    if (!whole)
      for_units(a, kBQB, thread, threads, [&](int64_t s, int64_t h, int64_t q0) {
        backward_block<true, false>(b, drop, s, h, q0, 0, INT64_MAX / 2, in_turn.at(s, h / group),
                                    {}, w, nullptr);
      });
    float* sums = all_sums;  // of this sequence and head 0
    for (int64_t s = 0; s < a.sequences; ++s) {
      const int64_t lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
      const int64_t cost = group * pairs(a, lq, lk);
      for (int64_t hk = 0; hk < a.kv_heads; ++hk) {
        // The cost of a sequence without queries is 0, also if it is the last one. A thread must still
        // visit it, because its keys need gradients of zero.
        const bool mine =
            thread ==
            (total > 0 ? min_of<int64_t>((2 * at + cost) * threads / (2 * total), threads - 1) : 0);
        at += cost;
        const int64_t step = whole ? max_of<int64_t>(lk, 1) : biased ? part_keys(lk) : kBK;
        int64_t unit = 0;
        for (int64_t k0 = 0; k0 < lk || (whole && k0 == 0); k0 += step, ++unit) {
          // threads get blocks of keys in turn, because the blocks differ in work with a causal mask
          if (whole ? !mine : (unit + hk) % threads != thread) continue;
          const int64_t k1 = min_of(k0 + step, lk), t = a.cu_k[s];
          float* dk = b.dk.data + t * b.dk.token + hk * b.dk.head;
          float* dv = b.dv.data + t * b.dv.token + hk * b.dv.head;
          const KeyRows rows = key_rows(a, s, hk, k0, k1, w.keys);
          KeyGradients grads{dk, dv, b.dk.token, b.dv.token};
          if (packs(lk)) grads = {w.dkeys, w.dkeys + packed_floats(a), a.head_dim, a.head_dim};
          zero_rows({grads.dk, grads.dk_row, 0}, 1, a.head_dim, k0, k1);
          zero_rows({grads.dv, grads.dv_row, 0}, 1, a.head_dim, k0, k1);
          for (int64_t h = hk * group; h < (hk + 1) * group; ++h) {
            float* of_head = biased ? sums + h * head_sums(a) : nullptr;
            if (biased && whole)
              memset(of_head, 0, sequence_sums(lq, lk) * sizeof(float));
            else if (biased)
              memset(of_head + unit * part_sums(lq, step), 0,
                     part_sums(lq, k1 - k0) * sizeof(float));
            for (int64_t q0 = 0; q0 < lq; q0 += kBQB) {
              if (whole)
                backward_block<true, true>(b, drop, s, h, q0, 0, INT64_MAX / 2, rows, grads, w,
                                           of_head);
              else
                backward_block<false, true>(b, drop, s, h, q0, k0, k1, rows, grads, w, of_head);
            }
          }
          if (!packs(lk)) continue;
          copy_rows(grads.dk + k0 * grads.dk_row, grads.dk_row, k1 - k0, a.head_dim,
                    dk + k0 * b.dk.token, b.dk.token);
          copy_rows(grads.dv + k0 * grads.dv_row, grads.dv_row, k1 - k0, a.head_dim,
                    dv + k0 * b.dv.token, b.dv.token);
        }
      }
      if (biased) sums += sequence_sums(lq, lk);
    }
    if (thread == 0) {
      const int64_t q = a.sequences ? a.cu_q[a.sequences] : 0,
                    k = a.sequences ? a.cu_k[a.sequences] : 0;
      zero_rows(b.dq, a.heads, a.head_dim, q, a.tokens_q);
      zero_rows(b.dk, a.kv_heads, a.head_dim, k, a.tokens_k);
      zero_rows(b.dv, a.kv_heads, a.head_dim, k, a.tokens_k);
    }
  });
  if (biased)
    pool.parallel_for(a.heads, [&](int64_t begin, int64_t end, int) {
      for (int64_t h = begin; h < end; ++h) finish_bias(b, h, all_sums + h * head_sums(a));
    });
}

}  // namespace hone::cpu::HONE_ISA
