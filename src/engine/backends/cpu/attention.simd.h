// Forward and paged decoding; the method is told in attention_blocks.simd.h.
#include "engine/backends/cpu/attention_blocks.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

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

void forward_block(const Attention& a, const Drop& drop, int64_t s, int64_t h, int64_t q0,
                   const KeyRows& rows, float* w) {
  const int64_t dim = a.head_dim, lq = a.cu_q[s + 1] - a.cu_q[s], lk = a.cu_k[s + 1] - a.cu_k[s];
  const int64_t o = lk - lq, nq = min_of(kBQ, lq - q0);
  float* qt = w;                  // [dim][kBQ], times scale * log2 e
  float* ot = qt + dim * kBQ;     // [dim][kBQ]
  float* st = ot + dim * kBQ;     // [kBK][kBQ]
  float* alpha = st + kBK * kBQ;  // [kBQ]
  const float* qp = a.q.data + (a.cu_q[s] + q0) * a.q.token + h * a.q.head;
  float* bias = alpha + 64;  // see bias_row
  transpose_in(qp, a.q.token, nq, dim, kBQ, a.scale * kLog2E, qt);
  constexpr int kVectors = kBQ / W;
  F m[kVectors], sum[kVectors];
  for (int v = 0; v < kVectors; ++v) {
    m[v] = set1(-kInfinity);
    sum[v] = zero();
  }
  const Range keys = visible(a, lq, lk, q0, nq);
  if (a.reach > 0) bias_row(a, h, o, q0, kBQ, keys, bias);
  const I index = lane_index() + set1(static_cast<int32_t>(q0));
  bool first = true;
  for (int64_t k0 = keys.begin / kBK * kBK; k0 < keys.end; k0 += kBK) {
    const int64_t lo = max_of<int64_t>(0, keys.begin - k0), hi = min_of(kBK, keys.end - k0);
    const bool mask = needs_mask(a, o, q0, nq, k0 + lo, hi - lo);
    for (int64_t l = 0; l < kBQ; l += kLanes)
      strip<true, kZero>(hi - lo, dim, rows.k + (k0 + lo) * rows.k_row, rows.k_row, qt + l, kBQ,
                         st + lo * kBQ + l, kBQ, nullptr);
    if (a.reach > 0) add_bias(bias, keys.end, k0, lo, hi, 0, kBQ, kBQ, st);
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
      const float* v = rows.v + (k0 + lo) * rows.v_row;
      if (first)
        strip<false, kZero>(dim, hi - lo, v, rows.v_row, st + lo * kBQ + l, kBQ, ot + l, kBQ,
                            nullptr);
      else
        strip<false, kScaleAdd>(dim, hi - lo, v, rows.v_row, st + lo * kBQ + l, kBQ, ot + l, kBQ,
                                alpha + l);
    }
    first = false;
  }
  if (first) memset(ot, 0, dim * kBQ * sizeof(float));
  for (int v = 0; v < kVectors; ++v)
    store(alpha + v * W, select(sum[v] > zero(), set1(1.0f) / sum[v], zero()));
  transpose_out(ot, kBQ, nq, dim, alpha,
                a.out.data + (a.cu_q[s] + q0) * a.out.token + h * a.out.head, a.out.token);
  if (a.lse == nullptr) return;
  for (int64_t i = 0; i < nq; ++i) {
    const float total = reinterpret_cast<float*>(sum)[i], top = reinterpret_cast<float*>(m)[i];
    a.lse[h * a.tokens_q + a.cu_q[s] + q0 + i] =
        total > 0 ? top * kLn2 + __builtin_logf(total) : -kInfinity;
  }
}

int64_t forward_floats(const Attention& a) {
  return 2 * a.head_dim * kBQ + kBK * kBQ + 64 + bias_lanes(a) + 2 * packed_floats(a);
}

}  // namespace

int64_t attention_workspace_bytes(const Attention& a, int threads) {
  return threads * forward_floats(a) * 4;
}

void attention(const Attention& a, void* workspace, ThreadPool& pool) {
  const Drop drop = make_drop(a);
  pool.run([&](int thread) {
    float* w = static_cast<float*>(workspace) + thread * forward_floats(a);
    KeyRowsInTurn rows(a, w + forward_floats(a) - 2 * packed_floats(a));
    for_units(a, kBQ, thread, pool.size(), [&](int64_t s, int64_t h, int64_t q0) {
      forward_block(a, drop, s, h, q0, rows.at(s, h / (a.heads / a.kv_heads)), w);
    });
    if (thread == 0) {
      const int64_t used = a.sequences ? a.cu_q[a.sequences] : 0;
      zero_rows(a.out, a.heads, a.head_dim, used, a.tokens_q);
      for (int64_t h = 0; h < a.heads && a.lse; ++h)
        for (int64_t t = used; t < a.tokens_q; ++t) a.lse[h * a.tokens_q + t] = -kInfinity;
    }
  });
}

// ---- paged decoding ------------------------------------------------------------------------

namespace {

struct PagedState {  // of one query and head: maximum and sum of what was seen, in powers of two
  float top, sum;
};

// Adds tokens [lo, hi) of a page (k, v and bias at its first token, at the head) to out and state.
void paged_tokens(const PagedAttention& a, const float* q, const float* k, const float* v,
                  const float* bias, int64_t lo, int64_t hi, float* p, PagedState& state,
                  float* out) {
  const int64_t dim = a.head_dim;
  float high = state.top;
  for (int64_t j = lo; j < hi; ++j) {
    F dot = zero();
    for_vectors(
        0, dim, HONE_VECTOR {
          dot = fma(get(q + i, whole, n), get(k + j * a.k.token + i, whole, n), dot);
        });
    p[j] = reduce_add(dot) * (a.scale * kLog2E);
    if (bias) p[j] += bias[j] * kLog2E;
    high = max_of(high, p[j]);
  }
  const float factor = exp2(set1(state.top - high))[0];
  float sum = state.sum * factor;
  for (int64_t j = lo; j < hi; j += W) {
    const F e = exp2(load_n(p + j, hi - j) - set1(high));
    store_n(p + j, e, hi - j);
  }
  for (int64_t j = lo; j < hi; ++j) sum += p[j];
  state = {high, sum};
  for_vectors(
      0, dim, HONE_VECTOR {
        F acc = get(out + i, whole, n) * set1(factor);
        for (int64_t j = lo; j < hi; ++j)
          acc = fma(set1(p[j]), get(v + j * a.v.token + i, whole, n), acc);
        put(out + i, acc, whole, n);
      });
}

int64_t paged_floats(const PagedAttention& a) { return (a.page + 15) / 16 * 16 + 2 * a.heads + 16; }

}  // namespace

int64_t paged_attention_workspace_bytes(const PagedAttention& a, int threads) {
  return 4 * threads * ((paged_floats(a) + 15) / 16 * 16);
}

void paged_attention(const PagedAttention& a, void* workspace, ThreadPool& pool) {
  const int64_t group = a.heads / a.kv_heads, dim = a.head_dim;
  pool.parallel_for(a.sequences * a.kv_heads, [&](int64_t begin, int64_t end, int thread) {
    float* p = static_cast<float*>(workspace) + thread * ((paged_floats(a) + 15) / 16 * 16);
    auto* state = reinterpret_cast<PagedState*>(p + (a.page + 15) / 16 * 16);
    // a page is read by all heads of this thread before the next one: memory then sees whole rows
    for (int64_t s = begin / a.kv_heads; s * a.kv_heads < end; ++s) {
      const int64_t h0 = group * max_of<int64_t>(0, begin - s * a.kv_heads);
      const int64_t h1 = group * min_of(a.kv_heads, end - s * a.kv_heads);
      for (int64_t t = a.cu_q[s]; t < a.cu_q[s + 1]; ++t) {
        const float* q = a.q.data + t * a.q.token;
        float* out = a.out.data + t * a.out.token;
        for (int64_t h = h0; h < h1; ++h) {
          state[h] = {-1e30f, 0};
          memset(out + h * a.out.head, 0, dim * sizeof(float));
        }
        const int64_t last = a.kv_length[s] - (a.cu_q[s + 1] - t);  // own place in the sequence
        const int64_t first = a.window > 0 ? max_of<int64_t>(0, last - a.window + 1) : 0;
        for (int64_t k0 = first / a.page * a.page; k0 <= last; k0 += a.page) {
          const int64_t lo = max_of(first, k0) - k0, hi = min_of(k0 + a.page, last + 1) - k0;
          const int64_t page = a.block_table[s * a.blocks + k0 / a.page] * a.page_stride;
          for (int64_t h = h0; h < h1; ++h)
            paged_tokens(
                a, q + h * a.q.head, a.k.data + page + h / group * a.k.head,
                a.v.data + page + h / group * a.v.head,
                a.bias ? a.bias + h * (2 * a.reach - 1) + a.reach - 1 + k0 - last : nullptr, lo, hi,
                p, state[h], out + h * a.out.head);
        }
        for (int64_t h = h0; h < h1; ++h) {
          const F inverse = set1(state[h].sum > 0 ? 1.0f / state[h].sum : 0.0f);
          float* o = out + h * a.out.head;
          if (a.lse)
            a.lse[h * a.tokens_q + t] = state[h].sum > 0
                                            ? state[h].top / kLog2E + __builtin_logf(state[h].sum)
                                            : -__builtin_inff();
          for_vectors(
              0, dim, HONE_VECTOR { put(o + i, get(o + i, whole, n) * inverse, whole, n); });
        }
      }
    }
  });
}

}  // namespace hone::cpu::HONE_ISA
