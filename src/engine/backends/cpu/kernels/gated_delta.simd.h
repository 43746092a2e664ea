// The gated delta rule, token by token. A state is the matrix M of a value head and a sequence (gated_delta.h). Its
// columns are independent of each other: each block of kColumns columns, which fits the L1 cache, is computed for all
// tokens of the sequence. The backward pass keeps the state before each chunk of kChunk tokens, and recomputes the
// states within a chunk.
#include "engine/backends/cpu/isa/simd.h"
#include "engine/backends/cpu/kernels/gated_delta.h"

namespace hone::cpu::HONE_ISA {
namespace {

constexpr int64_t kColumns = 2 * W, kChunk = 32;
constexpr int kRowParts = 4;  // partial sums of a sum over the rows of a state

// kColumns columns of a row of a state.
struct Columns {
  F a, b;
};
HONE_INLINE Columns nothing() { return {zero(), zero()}; }
HONE_INLINE Columns get_columns(const float* p) { return {load(p), load(p + W)}; }
HONE_INLINE Columns get_columns(const float* p, int64_t n) {
  return n >= kColumns ? get_columns(p)
                       : Columns{load_n(p, n), n > W ? load_n(p + W, n - W) : zero()};
}
HONE_INLINE void put_columns(float* p, Columns v) {
  store(p, v.a);
  store(p + W, v.b);
}
HONE_INLINE void put_columns(float* p, Columns v, int64_t n) {
  if (n >= kColumns) return put_columns(p, v);
  store_n(p, v.a, n);
  if (n > W) store_n(p + W, v.b, n - W);
}
// x * y + z.
HONE_INLINE Columns times_plus(F x, Columns y, Columns z) {
  return {fma(x, y.a, z.a), fma(x, y.b, z.b)};
}
HONE_INLINE Columns times_plus(Columns x, Columns y, Columns z) {
  return {fma(x.a, y.a, z.a), fma(x.b, y.b, z.b)};
}
HONE_INLINE Columns operator*(F x, Columns y) { return {x * y.a, x * y.b}; }
HONE_INLINE Columns operator-(Columns x, Columns y) { return {x.a - y.a, x.b - y.b}; }
HONE_INLINE Columns sum_parts(const Columns* p) {
  return {(p[0].a + p[1].a) + (p[2].a + p[3].a), (p[0].b + p[1].b) + (p[2].b + p[3].b)};
}
HONE_INLINE float sum_of(Columns x) { return reduce_add(x.a + x.b); }

// Calls f(i, part) for each row i of a state. part: number of the partial sum to which row i is added.
template <class Fn>
HONE_INLINE void for_rows_in_parts(int64_t rows, Fn&& f) {
  int64_t i = 0;
  for (; i + kRowParts <= rows; i += kRowParts)
    unroll<kRowParts>(HONE_LAMBDA(part) { f(i + part, part); });
  for (; i < rows; ++i) f(i, 0);
}

// Columns [first, first + columns) of the state of a value head.
struct Block {
  int64_t head, first, columns;
  const float *q, *k, *v;      // the head's rows of token 0
  int64_t key_row, value_row;  // floats from a token to the next: in q and k; in v
};
Block block_of(const GatedDelta& a, int64_t head, int64_t block) {
  Block x;
  x.head = head;
  x.first = block * kColumns;
  x.columns = min_of(kColumns, a.value_dim - x.first);
  x.key_row = a.key_heads * a.key_dim;
  x.value_row = a.heads * a.value_dim;
  const int64_t of_keys = head / (a.heads / a.key_heads) * a.key_dim;
  x.q = a.q + of_keys;
  x.k = a.k + of_keys;
  x.v = a.v + head * a.value_dim + x.first;
  return x;
}
int64_t column_blocks(const GatedDelta& a) { return (a.value_dim + kColumns - 1) / kColumns; }

HONE_INLINE F decay_of(const GatedDelta& a, const Block& x, int64_t t) {
  return exp(set1(a.decay[t * a.heads + x.head]));
}

// Computes one token with the formulas of gated_delta.h: replaces M in `state` [key_dim][kColumns], returns u, and
// writes M'^T k to `seen`. kKeeps: M' is written to `decayed`. kReads: out = M^T q.
template <bool kKeeps, bool kReads>
HONE_INLINE Columns step(const GatedDelta& a, const Block& x, int64_t t, float* state,
                         float* decayed, Columns* seen, Columns* out) {
  const float *k = x.k + t * x.key_row, *q = x.q + t * x.key_row;
  const F decay = decay_of(a, x, t);
  float* const between = kKeeps ? decayed : state;
  Columns sums[kRowParts] = {nothing(), nothing(), nothing(), nothing()};
  for_rows_in_parts(
      a.key_dim, [&](int64_t i, int part) __attribute__((always_inline)) {
        const Columns row = decay * get_columns(state + i * kColumns);
        put_columns(between + i * kColumns, row);
        sums[part] = times_plus(set1(k[i]), row, sums[part]);
      });
  *seen = sum_parts(sums);
  const Columns u =
      set1(a.beta[t * a.heads + x.head]) * (get_columns(x.v + t * x.value_row, x.columns) - *seen);
  for (Columns& s : sums) s = nothing();
  for_rows_in_parts(
      a.key_dim, [&](int64_t i, int part) __attribute__((always_inline)) {
        const Columns row = times_plus(set1(k[i]), u, get_columns(between + i * kColumns));
        put_columns(state + i * kColumns, row);
        if constexpr (kReads) sums[part] = times_plus(set1(q[i]), row, sums[part]);
      });
  if constexpr (kReads) *out = sum_parts(sums);
  return u;
}

void fill_zeros(float* p, int64_t count) {
  memset(p, 0, static_cast<size_t>(count) * sizeof(float));
}

void run_block(const GatedDelta& a, const Block& x, int64_t s, float* state) {
  const int64_t at = (s * a.heads + x.head) * a.key_dim * a.value_dim + x.first;
  for (int64_t i = 0; i < a.key_dim; ++i)
    put_columns(state + i * kColumns,
                a.state ? get_columns(a.state + at + i * a.value_dim, x.columns) : nothing());
  Columns seen, out;
  for (int64_t t = a.cu[s]; t < a.cu[s + 1]; ++t) {
    step<false, true>(a, x, t, state, nullptr, &seen, &out);
    put_columns(a.out + t * x.value_row + x.head * a.value_dim + x.first, out, x.columns);
  }
  if (!a.state_after) return;
  for (int64_t i = 0; i < a.key_dim; ++i)
    put_columns(a.state_after + at + i * a.value_dim, get_columns(state + i * kColumns), x.columns);
}

// Scratch memory of a thread in the backward pass.
struct DeltaWork {
  explicit DeltaWork(const GatedDelta& a, float* at) {
    const int64_t one = a.key_dim * kColumns;
    state = at;
    grad = state + one;
    decayed = grad + one;
    added = decayed + kChunk * one;
    seen = added + kChunk * kColumns;
    kept = seen + kChunk * kColumns;
  }
  static int64_t floats(const GatedDelta& a) {
    const int64_t chunks = (a.tokens + kChunk - 1) / kChunk;
    return a.key_dim * kColumns * (2 + kChunk + chunks) + 2 * kChunk * kColumns;
  }
  float *state, *grad;            // [key_dim][kColumns]
  float *decayed, *added, *seen;  // M', u and M'^T k of the chunk's tokens
  float* kept;                    // the state before each chunk
};

// Computes the gradients of one token. Replaces w.grad, the gradient of the state after the token, by that of the state
// before.
void step_back(const GatedDeltaBackward& b, const Block& x, int64_t t, int64_t in_chunk,
               const DeltaWork& w) {
  const GatedDelta& a = b.forward;
  const float *k = x.k + t * x.key_row, *q = x.q + t * x.key_row;
  const int64_t keys = t * x.key_row + (x.q - a.q), gate = t * a.heads + x.head;
  const int64_t values = t * x.value_row + x.head * a.value_dim + x.first;
  float *dq = b.dq + keys, *dk = b.dk + keys;
  const float* const before = w.decayed + in_chunk * a.key_dim * kColumns;
  const Columns dout = get_columns(b.dout + values, x.columns);
  const Columns u = get_columns(w.added + in_chunk * kColumns);
  Columns sums[kRowParts] = {nothing(), nothing(), nothing(), nothing()};
  for_rows_in_parts(
      a.key_dim, [&](int64_t i, int part) __attribute__((always_inline)) {
        const Columns grad = times_plus(set1(q[i]), dout, get_columns(w.grad + i * kColumns));
        put_columns(w.grad + i * kColumns, grad);
        sums[part] = times_plus(set1(k[i]), grad, sums[part]);
        const Columns row = times_plus(set1(k[i]), u, get_columns(before + i * kColumns));
        dq[i] += sum_of(times_plus(row, dout, nothing()));
      });
  const Columns r = sum_parts(sums);
  const Columns dv = set1(a.beta[gate]) * r;
  put_columns(b.dv + values, dv, x.columns);
  const Columns away =
      get_columns(x.v + t * x.value_row, x.columns) - get_columns(w.seen + in_chunk * kColumns);
  b.dbeta[gate] += sum_of(times_plus(r, away, nothing()));
  const F decay = decay_of(a, x, t);
  const Columns minus = nothing() - dv;
  for (Columns& s : sums) s = nothing();
  for_rows_in_parts(
      a.key_dim, [&](int64_t i, int part) __attribute__((always_inline)) {
        const Columns grad = get_columns(w.grad + i * kColumns);
        const Columns row = get_columns(before + i * kColumns);
        dk[i] += sum_of(times_plus(row, minus, times_plus(grad, u, nothing())));
        const Columns next = times_plus(set1(k[i]), minus, grad);
        sums[part] = times_plus(next, row, sums[part]);
        put_columns(w.grad + i * kColumns, decay * next);
      });
  b.ddecay[gate] += sum_of(sum_parts(sums));
}

void run_block_back(const GatedDeltaBackward& b, const Block& x, int64_t s, const DeltaWork& w) {
  const GatedDelta& a = b.forward;
  const int64_t begin = a.cu[s], end = a.cu[s + 1], one = a.key_dim * kColumns;
  const int64_t chunks = (end - begin + kChunk - 1) / kChunk;
  Columns seen;
  fill_zeros(w.state, one);
  for (int64_t chunk = 0; chunk < chunks; ++chunk) {
    memcpy(w.kept + chunk * one, w.state, static_cast<size_t>(one) * sizeof(float));
    const int64_t first = begin + chunk * kChunk;
    for (int64_t t = first; chunk + 1 < chunks && t < first + kChunk; ++t)
      step<false, false>(a, x, t, w.state, nullptr, &seen, nullptr);
  }
  fill_zeros(w.grad, one);
  for (int64_t chunk = chunks; chunk-- > 0;) {
    const int64_t first = begin + chunk * kChunk, last = min_of(first + kChunk, end);
    memcpy(w.state, w.kept + chunk * one, static_cast<size_t>(one) * sizeof(float));
    for (int64_t t = first; t < last; ++t) {
      const int64_t i = t - first;
      const Columns u = step<true, false>(a, x, t, w.state, w.decayed + i * one, &seen, nullptr);
      put_columns(w.added + i * kColumns, u);
      put_columns(w.seen + i * kColumns, seen);
    }
    for (int64_t t = last; t-- > first;) step_back(b, x, t, t - first, w);
  }
}

}  // namespace

int64_t gated_delta_workspace_bytes(const GatedDelta& a, int threads) {
  return threads * a.key_dim * kColumns * static_cast<int64_t>(sizeof(float));
}

void gated_delta(const GatedDelta& a, void* workspace, ThreadPool& pool) {
  const int64_t blocks = column_blocks(a), row = a.heads * a.value_dim;
  const int64_t last = min_of<int64_t>(a.cu[a.sequences], a.tokens);
  fill_zeros(a.out + last * row, (a.tokens - last) * row);
  const int64_t units = a.heads * blocks * a.sequences;
  const int64_t work = a.sequences == 0 ? 0 : last * a.key_dim * kColumns / a.sequences;
  parallel_items(pool, units, work, [&](int64_t begin, int64_t end, int thread) {
    float* state = static_cast<float*>(workspace) + thread * a.key_dim * kColumns;
    for (int64_t unit = begin; unit < end; ++unit) {
      const int64_t of_head = unit / a.sequences;
      run_block(a, block_of(a, of_head / blocks, of_head % blocks), unit % a.sequences, state);
    }
  });
}

int64_t gated_delta_backward_workspace_bytes(const GatedDelta& a, int threads) {
  return threads * DeltaWork::floats(a) * static_cast<int64_t>(sizeof(float));
}

// A unit of work is one key head of one sequence. Gradients of q and k are sums over all value heads of the key head.
void gated_delta_backward(const GatedDeltaBackward& b, void* workspace, ThreadPool& pool) {
  const GatedDelta& a = b.forward;
  fill_zeros(b.dq, a.tokens * a.key_heads * a.key_dim);
  fill_zeros(b.dk, a.tokens * a.key_heads * a.key_dim);
  fill_zeros(b.dv, a.tokens * a.heads * a.value_dim);
  fill_zeros(b.ddecay, a.tokens * a.heads);
  fill_zeros(b.dbeta, a.tokens * a.heads);
  const int64_t last = min_of<int64_t>(a.cu[a.sequences], a.tokens);
  const int64_t each = a.heads / a.key_heads, units = a.key_heads * a.sequences;
  const int64_t work = a.sequences == 0 ? 0 : last * each * a.key_dim * a.value_dim / a.sequences;
  parallel_items(pool, units, work, [&](int64_t begin, int64_t end, int thread) {
    const DeltaWork w(a, static_cast<float*>(workspace) + thread * DeltaWork::floats(a));
    for (int64_t unit = begin; unit < end; ++unit)
      for (int64_t h = 0; h < each; ++h)
        for (int64_t block = 0; block < column_blocks(a); ++block)
          run_block_back(b, block_of(a, unit / a.sequences * each + h, block), unit % a.sequences,
                         w);
  });
}

}  // namespace hone::cpu::HONE_ISA
