// Attention: the forward pass, and decoding over a paged KV cache. attention_blocks.simd.h explains the method.
#include "engine/backends/cpu/kernels/attention_blocks.simd.h"

namespace hone::cpu::HONE_ISA {
namespace {

// ---- forward -------------------------------------------------------------------------------

// Replaces the scores S of rows [lo, hi) of a block by P = 2^(S - m), and applies dropout to P. The P before dropout is
// added to the sums.
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
    if (a.softcap > 0) cap_rows(a.softcap, lo, hi, 0, kBQ, kBQ, st);
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
      const F base = max(top, set1(-1e30f));  // finite, so that -inf - base is not NaN
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
  const Drop drop = make_drop(a, a.first_head);
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

// The softmax of a query and head so far: top is the largest score times log2 e, sum is the sum of 2^(score - top).
struct PagedState {
  float top, sum;
};

struct PagedQuery {
  const float* q;
  const float* bias;  // the bias of the page's first token; null: none
  float* out;
  PagedState* state;
};

HONE_INLINE float capped_score(float score, float cap) {
  return cap * tanh_of(set1(score / cap))[0];
}

// Adds tokens [lo, hi) of a page to the out and state of Q queries. A row of the page is loaded once for all queries.
// k, v: the head's row of the page's first token. all_p: scratch [Q][page rounded up to 16].
template <int Q>
void paged_tokens(const PagedAttention& a, const PagedQuery* queries, const float* k,
                  const float* v, int64_t lo, int64_t hi, float* all_p) {
  const int64_t dim = a.head_dim, width = (a.page + 15) / 16 * 16;
  float high[Q];
  for (int i = 0; i < Q; ++i) high[i] = queries[i].state->top;
  const float* qs[Q];
  float* outs[Q];
  unroll<Q>(HONE_LAMBDA(x) {
    qs[x] = queries[x].q;
    outs[x] = queries[x].out;
  });
  for (int64_t j = lo; j < hi; ++j) {
    F dot[Q];
    unroll<Q>(HONE_LAMBDA(x) { dot[x] = zero(); });
    for_vectors(
        0, dim, HONE_VECTOR {
          const float* from = k + j * a.k.token + i;
          const F kv = get(from, whole, n);
          __builtin_prefetch(from + dim, 0, kToL2);  // the row of the next head
          unroll<Q>(HONE_LAMBDA(x) { dot[x] = fma(get(qs[x] + i, whole, n), kv, dot[x]); });
        });
    unroll<Q>(HONE_LAMBDA(x) {
      float score = reduce_add(dot[x]) * (a.scale * kLog2E);
      if (a.softcap > 0) score = capped_score(score, a.softcap * kLog2E);
      if (a.bias) score += queries[x].bias[j] * kLog2E;
      all_p[x * width + j] = score;
      high[x] = max_of(high[x], score);
    });
  }
  F factor[Q];
  for (int x = 0; x < Q; ++x) {
    float* p = all_p + x * width;
    PagedState& state = *queries[x].state;
    factor[x] = set1(exp2(set1(state.top - high[x]))[0]);
    float sum = state.sum * factor[x][0];
    for (int64_t j = lo; j < hi; j += W) {
      const F e = exp2(load_n(p + j, hi - j) - set1(high[x]));
      store_n(p + j, e, hi - j);
    }
    for (int64_t j = lo; j < hi; ++j) sum += p[j];
    state = {high[x], sum};
  }
  for_vectors(
      0, dim, HONE_VECTOR {
        F acc[Q];
        unroll<Q>(HONE_LAMBDA(x) { acc[x] = get(outs[x] + i, whole, n) * factor[x]; });
        for (int64_t j = lo; j < hi; ++j) {
          const float* from = v + j * a.v.token + i;
          const F row = get(from, whole, n);
          __builtin_prefetch(from + dim, 0, kToL2);
          unroll<Q>(HONE_LAMBDA(x) { acc[x] = fma(set1(all_p[x * width + j]), row, acc[x]); });
        }
        unroll<Q>(HONE_LAMBDA(x) { put(outs[x] + i, acc[x], whole, n); });
      });
}

// Sequences with one query each go over their pages side by side, kSideBySide at a time. If they share a page, as the
// beams of one prompt do, it is read from memory once, and a row is used by kTogether queries at a time.
constexpr int64_t kSideBySide = 8, kTogether = 4;

int64_t paged_scores(const PagedAttention& a) { return kTogether * ((a.page + 15) / 16 * 16); }
int64_t paged_floats(const PagedAttention& a) {
  return paged_scores(a) + (2 * kSideBySide * a.heads + 15) / 16 * 16;
}

// The cached tokens of sequence s that its query t sees.
Range seen_tokens(const PagedAttention& a, int64_t s, int64_t t) {
  const int64_t last = a.kv_length[s] - (a.cu_q[s + 1] - t);  // the query's own token
  return {a.window > 0 ? max_of<int64_t>(0, last - a.window + 1) : 0, last + 1};
}

// Computes heads [h0, h1) of `count` queries: of query t of sequence s, query t + 1 of sequence s + 1, and so on.
void paged_queries(const PagedAttention& a, int64_t s, int64_t t, int64_t count, int64_t h0,
                   int64_t h1, float* p, PagedState* states) {
  const int64_t group = a.heads / a.kv_heads, dim = a.head_dim;
  int64_t begin = INT64_MAX, end = 0;
  for (int64_t i = 0; i < count; ++i) {
    const Range seen = seen_tokens(a, s + i, t + i);
    begin = min_of(begin, seen.begin);
    end = max_of(end, seen.end);
    for (int64_t h = h0; h < h1; ++h) {
      states[i * a.heads + h] = {-1e30f, 0};
      memset(a.out.data + (t + i) * a.out.token + h * a.out.head, 0, dim * sizeof(float));
    }
  }
  for (int64_t k0 = begin / a.page * a.page; k0 < end; k0 += a.page) {
    const auto page_of = [&](int64_t i) { return a.block_table[(s + i) * a.blocks + k0 / a.page]; };
    const auto tokens_of = [&](int64_t i) {  // the tokens of this page that are seen
      const Range seen = seen_tokens(a, s + i, t + i);
      return Range{max_of(seen.begin, k0) - k0, min_of(k0 + a.page, seen.end) - k0};
    };
    for (int64_t i0 = 0, i1; i0 < count; i0 = i1) {
      const Range tokens = tokens_of(i0);
      for (i1 = i0 + 1; i1 < count && page_of(i1) == page_of(i0); ++i1)
        if (tokens_of(i1).begin != tokens.begin || tokens_of(i1).end != tokens.end) break;
      if (tokens.begin >= tokens.end) continue;
      const int64_t page = page_of(i0) * a.page_stride;
      // all heads of this thread read a page before the next page: whole rows are then read from memory
      for (int64_t h = h0; h < h1; ++h) {
        PagedQuery queries[kSideBySide];
        for (int64_t i = i0; i < i1; ++i) {
          const int64_t last = seen_tokens(a, s + i, t + i).end - 1;
          queries[i - i0] = {
              a.q.data + (t + i) * a.q.token + h * a.q.head,
              a.bias ? a.bias + h * (2 * a.reach - 1) + a.reach - 1 + k0 - last : nullptr,
              a.out.data + (t + i) * a.out.token + h * a.out.head, &states[i * a.heads + h]};
        }
        const float* k = a.k.data + page + h / group * a.k.head;
        const float* v = a.v.data + page + h / group * a.v.head;
        int64_t i = 0;
        for (; i + kTogether <= i1 - i0; i += kTogether)
          paged_tokens<kTogether>(a, queries + i, k, v, tokens.begin, tokens.end, p);
        for (; i + 2 <= i1 - i0; i += 2)
          paged_tokens<2>(a, queries + i, k, v, tokens.begin, tokens.end, p);
        if (i < i1 - i0) paged_tokens<1>(a, queries + i, k, v, tokens.begin, tokens.end, p);
      }
    }
  }
  for (int64_t i = 0; i < count; ++i)
    for (int64_t h = h0; h < h1; ++h) {
      const PagedState& state = states[i * a.heads + h];
      const F inverse = set1(state.sum > 0 ? 1.0f / state.sum : 0.0f);
      float* o = a.out.data + (t + i) * a.out.token + h * a.out.head;
      if (a.lse)
        a.lse[h * a.tokens_q + t + i] =
            state.sum > 0 ? state.top / kLog2E + __builtin_logf(state.sum) : -__builtin_inff();
      for_vectors(
          0, dim, HONE_VECTOR { put(o + i, get(o + i, whole, n) * inverse, whole, n); });
    }
}

}  // namespace

int64_t paged_attention_workspace_bytes(const PagedAttention& a, int threads) {
  return 4 * threads * paged_floats(a);
}

void paged_attention(const PagedAttention& a, void* workspace, ThreadPool& pool) {
  const int64_t group = a.heads / a.kv_heads;
  pool.parallel_for(a.sequences * a.kv_heads, [&](int64_t begin, int64_t end, int thread) {
    float* p = static_cast<float*>(workspace) + thread * paged_floats(a);
    auto* states = reinterpret_cast<PagedState*>(p + paged_scores(a));
    const auto first_head = [&](int64_t s) {
      return group * max_of<int64_t>(0, begin - s * a.kv_heads);
    };
    const auto last_head = [&](int64_t s) {
      return group * min_of(a.kv_heads, end - s * a.kv_heads);
    };
    const auto one_query = [&](int64_t s) { return a.cu_q[s + 1] - a.cu_q[s] == 1; };
    for (int64_t s = begin / a.kv_heads, next; s * a.kv_heads < end; s = next) {
      const int64_t h0 = first_head(s), h1 = last_head(s);
      for (next = s + 1; one_query(s) && next - s < kSideBySide && next * a.kv_heads < end &&
                         one_query(next) && first_head(next) == h0 && last_head(next) == h1;)
        ++next;
      for (int64_t t = a.cu_q[s]; t < a.cu_q[s + 1]; ++t)
        paged_queries(a, s, t, next - s, h0, h1, p, states);
    }
  });
}

}  // namespace hone::cpu::HONE_ISA
