// gated_delta_rule and its gradient (engine/ops), token by token in f32. The columns of a state are independent of each
// other. A block holds kWarp columns in shared memory, one for each lane; a warp has rows `warp`, `warp` + kDeltaWarps,
// and so on. So each thread reads and writes only its own elements of a state.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

constexpr int kDeltaWarps = kBlock / kWarp;

struct DeltaSums {
  float of_warp[kDeltaWarps][kWarp];
};
// The sum over the warps of each lane's x, for all of them.
__device__ __forceinline__ float sum_of_warps(float x, DeltaSums& sums) {
  const int lane = static_cast<int>(threadIdx.x) % kWarp,
            warp = static_cast<int>(threadIdx.x) / kWarp;
  sums.of_warp[warp][lane] = x;
  __syncthreads();
  float all = 0;
  for (int w = 0; w < kDeltaWarps; ++w) all += sums.of_warp[w][lane];
  __syncthreads();
  return all;
}

// Operands, and the place of a thread's column in them.
struct DeltaColumn {
  const float *q, *k, *v, *decay, *beta;
  const DeltaRule& d;
  int64_t head, key_head, column;
  bool is_here;
  int lane, warp;

  __device__ DeltaColumn(const float* q, const float* k, const float* v, const float* decay,
                         const float* beta, const DeltaRule& d, int64_t head, int64_t block)
      : q(q), k(k), v(v), decay(decay), beta(beta), d(d), head(head) {
    lane = static_cast<int>(threadIdx.x) % kWarp;
    warp = static_cast<int>(threadIdx.x) / kWarp;
    key_head = head / (d.heads / d.key_heads);
    column = block * kWarp + lane;
    is_here = column < d.values;
  }
  __device__ int64_t keys_at(int64_t t) const { return (t * d.key_heads + key_head) * d.keys; }
  __device__ int64_t value_at(int64_t t) const { return (t * d.heads + head) * d.values + column; }
  __device__ int64_t gate_at(int64_t t) const { return t * d.heads + head; }
  __device__ float value_of(int64_t t) const { return is_here ? v[value_at(t)] : 0.0f; }

  // One token. `decayed`, if given, gets the state between decay and update, and `seen` M'^T k. Returns u.
  __device__ float step(int64_t t, float* state, float* decayed, float& seen,
                        DeltaSums& sums) const {
    const float* key = k + keys_at(t);
    const float faded = expf(decay[gate_at(t)]);
    float part = 0;
    for (int64_t i = warp; i < d.keys; i += kDeltaWarps) {
      const float x = state[i * kWarp + lane] * faded;
      state[i * kWarp + lane] = x;
      if (decayed != nullptr) decayed[i * kWarp + lane] = x;
      part += x * key[i];
    }
    seen = sum_of_warps(part, sums);
    const float u = beta[gate_at(t)] * (value_of(t) - seen);
    for (int64_t i = warp; i < d.keys; i += kDeltaWarps) state[i * kWarp + lane] += key[i] * u;
    return u;
  }
};

// A block for each segment, head and kWarp columns.
HONE_KERNEL(gated_delta_rule, const float* q, const float* k, const float* v, const float* decay,
            const float* beta, const int32_t* cu, const float* state, float* out,
            float* state_after, DeltaRule d) {
  HONE_DYNAMIC_SHARED(float, cells);  // [keys][kWarp]
  __shared__ DeltaSums sums;
  const int64_t segment = blockIdx.x % d.segments, unit = blockIdx.x / d.segments;
  const int64_t blocks = (d.values + kWarp - 1) / kWarp;
  const DeltaColumn c(q, k, v, decay, beta, d, unit / blocks, unit % blocks);
  const int64_t begin = cu[segment], end = cu[segment + 1];
  const int64_t kept = (segment * d.heads + c.head) * d.keys * d.values + c.column;
  for (int64_t i = c.warp; i < d.keys; i += kDeltaWarps)
    cells[i * kWarp + c.lane] = state != nullptr && c.is_here ? state[kept + i * d.values] : 0.0f;
  for (int64_t t = begin; t < end; ++t) {
    float seen;
    c.step(t, cells, nullptr, seen, sums);
    const float* query = q + c.keys_at(t);
    float part = 0;
    for (int64_t i = c.warp; i < d.keys; i += kDeltaWarps)
      part += cells[i * kWarp + c.lane] * query[i];
    const float all = sum_of_warps(part, sums);
    if (c.warp == 0 && c.is_here) out[c.value_at(t)] = all;
  }
  if (state_after != nullptr && c.is_here)
    for (int64_t i = c.warp; i < d.keys; i += kDeltaWarps)
      state_after[kept + i * d.values] = cells[i * kWarp + c.lane];
  if (segment == d.segments - 1 && c.is_here)
    for (int64_t t = end + c.warp; t < d.tokens; t += kDeltaWarps) out[c.value_at(t)] = 0.0f;
}

struct DeltaGrads {
  float *dq, *dk, *dv, *ddecay, *dbeta;
};

// Adds to a sum of several turns, or begins it.
__device__ __forceinline__ void add_turn(float* sum, float x, bool begins) {
  *sum = begins ? x : *sum + x;
}

// The gradients of one token; `grads` is that of the state after it, and becomes that of the state before.
// begins_keys, begins_gates: no turn has written those of the head of keys, of the head of values.
__device__ __forceinline__ void delta_step_back(const DeltaColumn& c, int64_t t, float* grads,
                                                const float* decayed, float u, float seen,
                                                const float* dout, const DeltaGrads& g,
                                                bool begins_keys, bool begins_gates,
                                                DeltaSums& sums) {
  const int64_t keys = c.d.keys, at = c.keys_at(t), gate = c.gate_at(t);
  const float *query = c.q + at, *key = c.k + at;
  const float given = c.is_here ? dout[c.value_at(t)] : 0.0f;
  float part = 0;
  for (int64_t i = c.warp; i < keys; i += kDeltaWarps) {
    const float grad = grads[i * kWarp + c.lane] + query[i] * given;
    grads[i * kWarp + c.lane] = grad;
    part += key[i] * grad;
    const float x = sum_warp((decayed[i * kWarp + c.lane] + key[i] * u) * given);
    if (c.lane == 0) add_turn(g.dq + at + i, x, begins_keys);
  }
  const float r = sum_of_warps(part, sums), of_v = c.beta[gate] * r;
  if (c.warp == 0 && c.is_here) g.dv[c.value_at(t)] = of_v;
  const float of_beta = sum_warp(r * (c.value_of(t) - seen));
  const float faded = expf(c.decay[gate]);
  part = 0;
  for (int64_t i = c.warp; i < keys; i += kDeltaWarps) {
    const float grad = grads[i * kWarp + c.lane], before = decayed[i * kWarp + c.lane];
    const float x = sum_warp(grad * u - before * of_v);
    if (c.lane == 0) add_turn(g.dk + at + i, x, begins_keys);
    const float next = grad - key[i] * of_v;
    part += next * before;
    grads[i * kWarp + c.lane] = next * faded;
  }
  const float of_decay = sum_warp(sum_of_warps(part, sums));
  if (threadIdx.x == 0) {
    add_turn(g.dbeta + gate, of_beta, begins_gates);
    add_turn(g.ddecay + gate, of_decay, begins_gates);
  }
}

// Gradients of tokens from `end` on, which are in no segment.
__device__ __forceinline__ void clear_after(const DeltaColumn& c, int64_t end,
                                            const DeltaGrads& g) {
  for (int64_t t = end + c.warp; t < c.d.tokens; t += kDeltaWarps) {
    if (c.is_here) g.dv[c.value_at(t)] = 0.0f;
    if (c.lane == 0) g.ddecay[c.gate_at(t)] = g.dbeta[c.gate_at(t)] = 0.0f;
    for (int64_t i = c.lane; i < c.d.keys; i += kWarp)
      g.dq[c.keys_at(t) + i] = g.dk[c.keys_at(t) + i] = 0.0f;
  }
}

// Blocks take turns with segments and heads of keys, and go through the columns of their heads of values.
// `chunks`: the states of the tokens of a block's chunk; `kept`: the states in front of all chunks, which
// segment s begins at cu[s] / kDeltaChunk + s.
HONE_KERNEL(gated_delta_rule_grad, const float* q, const float* k, const float* v,
            const float* decay, const float* beta, const int32_t* cu, const float* dout, float* dq,
            float* dk, float* dv, float* ddecay, float* dbeta, float* chunks, float* kept,
            DeltaRule d) {
  HONE_DYNAMIC_SHARED(float, cells);  // two of [keys][kWarp]
  __shared__ DeltaSums sums;
  __shared__ float added[kDeltaChunk][kWarp], seen[kDeltaChunk][kWarp];
  float* const grads = cells + d.keys * kWarp;
  const DeltaGrads g = {dq, dk, dv, ddecay, dbeta};
  const int64_t one = d.keys * kWarp, each = d.heads / d.key_heads;
  const int64_t blocks = (d.values + kWarp - 1) / kWarp;
  const int64_t slots = d.tokens / kDeltaChunk + d.segments;
  float* const chunk_states = chunks + blockIdx.x * kDeltaChunk * one;
  for (int64_t unit = blockIdx.x; unit < d.segments * d.key_heads; unit += gridDim.x) {
    const int64_t segment = unit % d.segments, key_head = unit / d.segments;
    const int64_t begin = cu[segment], end = cu[segment + 1];
    const int64_t count = (end - begin + kDeltaChunk - 1) / kDeltaChunk;
    float* const fronts = kept + (key_head * slots + begin / kDeltaChunk + segment) * one;
    for (int64_t turn = 0; turn < each * blocks; ++turn) {
      const int64_t block = turn % blocks;
      const DeltaColumn c(q, k, v, decay, beta, d, key_head * each + turn / blocks, block);
      const auto own = [&](float* to, const float* from) {
        for (int64_t i = c.warp; i < d.keys; i += kDeltaWarps)
          to[i * kWarp + c.lane] = from != nullptr ? from[i * kWarp + c.lane] : 0.0f;
      };
      own(cells, nullptr);
      own(grads, nullptr);
      float saw;
      for (int64_t chunk = 0; chunk < count; ++chunk) {
        own(fronts + chunk * one, cells);
        const int64_t first = begin + chunk * kDeltaChunk;
        for (int64_t t = first; chunk + 1 < count && t < first + kDeltaChunk; ++t)
          c.step(t, cells, nullptr, saw, sums);
      }
      for (int64_t chunk = count; chunk-- > 0;) {
        const int64_t first = begin + chunk * kDeltaChunk;
        const int64_t last = first + kDeltaChunk < end ? first + kDeltaChunk : end;
        own(cells, fronts + chunk * one);
        for (int64_t t = first; t < last; ++t) {
          const float u = c.step(t, cells, chunk_states + (t - first) * one, saw, sums);
          if (c.warp == 0) {
            added[t - first][c.lane] = u;
            seen[t - first][c.lane] = saw;
          }
        }
        __syncthreads();
        for (int64_t t = last; t-- > first;)
          delta_step_back(c, t, grads, chunk_states + (t - first) * one, added[t - first][c.lane],
                          seen[t - first][c.lane], dout, g, turn == 0, block == 0, sums);
        __syncthreads();
      }
      if (segment == d.segments - 1) clear_after(c, end, g);
    }
  }
}

}  // namespace hone::cuda
