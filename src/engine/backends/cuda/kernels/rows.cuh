// rope, dropout and embeddings of rows [T,C] (engine/ops).
#include "engine/backends/cuda/kernels/column_packs.cuh"
#include "engine/backends/cuda/kernels/philox.cuh"

namespace hone::cuda {

// A thread for N pairs of channels that turn together, of all heads of a row: they have the same angles. The pairs
// of a head are (j, j + half), or neighbours if kNeighbours. sign -1: the transposed map.
template <int N, bool kNeighbours, class T>
__device__ __forceinline__ void turn_heads(const T* x, const int32_t* positions,
                                           const float* inv_freq, T* y, int64_t rows, int64_t heads,
                                           int64_t half, int64_t size, float scale, float sign) {
  const int64_t packs = half / N;
  for (int64_t i = first_of_all(); i < rows * packs; i += all_threads()) {
    const int64_t row = i / packs, j = i % packs * N;
    float c[N], s[N];
    HONE_UNROLL
    for (int e = 0; e < N; ++e) {
      const float angle = static_cast<float>(positions[row]) * inv_freq[j + e];
      c[e] = cosf(angle) * scale;
      s[e] = sinf(angle) * scale * sign;
    }
    HONE_UNROLL_BY(2)
    for (int64_t head = 0; head < heads; ++head) {
      const int64_t at = (row * heads + head) * size + (kNeighbours ? 2 * j : j);
      const int64_t other = kNeighbours ? 1 : half;
      float first[N], second[N];
      load<N>(first, x + at);
      load<N>(second, x + at + other);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) {
        const float turned = first[e] * c[e] - second[e] * s[e];
        second[e] = second[e] * c[e] + first[e] * s[e];
        first[e] = turned;
      }
      store<N>(y + at, first);
      store<N>(y + at + other, second);
    }
  }
}
// Channels of each head from 2 * half on stay as they are.
template <class T>
__device__ __forceinline__ void turn_pairs(const T* x, const int32_t* positions,
                                           const float* inv_freq, T* y, int64_t rows, int64_t heads,
                                           int64_t half, int64_t size, float scale, float sign,
                                           int neighbours) {
  const int64_t rest = size - 2 * half;
  for (int64_t i = first_of_all(); i < rows * heads * rest; i += all_threads()) {
    const int64_t at = i / rest * size + 2 * half + i % rest;
    y[at] = x[at];
  }
  if (neighbours != 0)
    turn_heads<1, true>(x, positions, inv_freq, y, rows, heads, half, size, scale, sign);
  else if (half % kTurned == 0 && size % kTurned == 0 && is_whole(x) && is_whole(y))
    turn_heads<kTurned, false>(x, positions, inv_freq, y, rows, heads, half, size, scale, sign);
  else
    turn_heads<1, false>(x, positions, inv_freq, y, rows, heads, half, size, scale, sign);
}

// What dropout keeps of N groups of four channels that share the words of a counter: j, j + 16, j + 32, j + 48. Bit
// word * N + e is for group e.
template <int N>
__device__ __forceinline__ uint32_t kept_of_groups(const Key& key, int64_t sample, int32_t position,
                                                   int64_t group, uint32_t threshold) {
  Words c = words_of(static_cast<uint64_t>(sample), 0);
  c.w[2] = static_cast<uint32_t>(position);
  uint32_t kept = 0;
  HONE_UNROLL
  for (int e = 0; e < N; ++e) {
    c.w[3] = static_cast<uint32_t>(group + e);
    const Words random = philox(c, key.k0, key.k1);
    HONE_UNROLL
    for (int word = 0; word < 4; ++word)
      kept |= (random.w[word] >= threshold ? 1u : 0u) << (word * N + e);
  }
  return kept;
}
__device__ __forceinline__ int64_t column_of_group(int64_t group, int word) {
  return group / 16 * 64 + word * 16 + group % 16;
}
// An element, as it is kept in T before what is added.
template <class T>
__device__ __forceinline__ float dropped(float x, bool keeps, float scale, bool adds, float more) {
  const float y = keeps ? x * scale : 0.0f;
  return adds ? wide(Narrow<T>::of(y)) + more : y;
}

// A thread for N groups.
template <int N, class T>
__device__ __forceinline__ void drop_groups(const T* x, const Key& key, const int64_t* samples,
                                            const int32_t* positions, const T* residual, T* y,
                                            int64_t rows, int64_t channels, uint32_t threshold,
                                            float scale) {
  const int64_t packs = (channels + 63) / 64 * 16 / N;
  for (int64_t i = first_of_all(); i < rows * packs; i += all_threads()) {
    const int64_t row = i / packs, group = i % packs * N;
    const uint32_t kept =
        kept_of_groups<N>(key, samples[row], positions[row], group, threshold);
    HONE_UNROLL
    for (int word = 0; word < 4; ++word) {
      const int64_t j = column_of_group(group, word), at = row * channels + j;
      if (j >= channels) break;
      float v[N], more[N] = {};
      load<N>(v, x + at);
      if (residual != nullptr) load<N>(more, residual + at);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) {
        const bool keeps = (kept >> (word * N + e) & 1) != 0;
        v[e] = dropped<T>(v[e], keeps, scale, residual != nullptr, more[e]);
      }
      store<N>(y + at, v);
    }
  }
}
template <class T>
__device__ __forceinline__ void drop(const T* x, const int64_t* rng, const int64_t* samples,
                                     const int32_t* positions, const T* residual, T* y, int64_t rows,
                                     int64_t channels, uint64_t place, uint32_t threshold,
                                     float scale) {
  const Key key = shared_key(rng, place);
  constexpr int N = kPacked<T, T>;
  if (channels % N == 0 && is_whole(x) && is_whole(residual) && is_whole(y))
    drop_groups<N>(x, key, samples, positions, residual, y, rows, channels, threshold, scale);
  else
    drop_groups<1>(x, key, samples, positions, residual, y, rows, channels, threshold, scale);
}

// Beside them parts of the sums of rows, as sum_quads() makes them: a lane has N groups, a warp every eighth row.
template <class T>
__device__ __forceinline__ void drop_sums(const T* x, const int64_t* rng, const int64_t* samples,
                                          const int32_t* positions, const T* residual, T* y,
                                          float* parts, int64_t rows, int64_t channels,
                                          uint64_t place, uint32_t threshold, float scale) {
  constexpr int N = kSummedColumns, kTurns = kBlock / kWarp, kOwn = 4 * N;
  __shared__ float sums[kTurns][kWarp][kOwn + 1];
  const Key key = shared_key(rng, place);
  const int tid = static_cast<int>(threadIdx.x), lane = tid % kWarp, turn = tid / kWarp;
  const int64_t block_group = int64_t{blockIdx.x} * kWarp * N, group = block_group + lane * N;
  const int64_t size = (rows + gridDim.y - 1) / gridDim.y, part = blockIdx.y;
  const int64_t end = (part + 1) * size < rows ? (part + 1) * size : rows;
  const bool whole = channels % N == 0 && is_whole(x) && is_whole(residual) && is_whole(y);
  float sum[kOwn] = {};
  for (int64_t row = part * size + turn; column_of_group(group, 0) < channels && row < end;
       row += kTurns) {
    const uint32_t kept = kept_of_groups<N>(key, samples[row], positions[row], group, threshold);
    HONE_UNROLL
    for (int word = 0; word < 4; ++word) {
      const ColumnPack pack{column_of_group(group, word), channels, whole};
      if (pack.first >= channels) break;
      const int64_t at = row * channels + pack.first;
      float v[N], more[N] = {};
      pack.get(v, x + at);
      if (residual != nullptr) pack.get(more, residual + at);
      HONE_UNROLL
      for (int e = 0; e < N; ++e) {
        const bool keeps = (kept >> (word * N + e) & 1) != 0;
        v[e] = wide(Narrow<T>::of(dropped<T>(v[e], keeps, scale, residual != nullptr, more[e])));
        sum[word * N + e] += v[e];
      }
      pack.put(y + at, v);
    }
  }
  HONE_UNROLL
  for (int i = 0; i < kOwn; ++i) sums[turn][lane][i] = sum[i];
  __syncthreads();
  for (int i = tid; i < kWarp * kOwn; i += kBlock) {
    const int of = i / kOwn, own = i % kOwn;
    const int64_t j = column_of_group(block_group + of * N, own / N) + own % N;
    if (j >= channels) continue;
    float all = sums[0][of][own];
    for (int other = 1; other < kTurns; ++other) all += sums[other][of][own];
    parts[part * channels + j] = all;
  }
}

// out[t] = table[ids[t]], rounded.
template <class T>
__device__ __forceinline__ void embed(const float* table, const int32_t* ids, T* out, int64_t n,
                                      int64_t columns) {
  constexpr int N = kPacked<T, T>;
  for_packs<N>(
      n, columns % N == 0 && is_whole(table) && is_whole(out),
      [&](int64_t i) {
        float v[N];
        load<N>(v, table + ids[i / columns] * columns + i % columns);
        store<N>(out + i, v);
      },
      [&](int64_t i) {
        out[i] = Narrow<T>::of(table[ids[i / columns] * columns + i % columns]);
      });
}
#define HONE_EMBEDDING(name, T)                                                                 \
  HONE_KERNEL(embedding_##name, const float* table, const int32_t* ids, T* out, int64_t n,      \
              int64_t columns) {                                                                \
    embed(table, ids, out, n, columns);                                                         \
  }
HONE_EMBEDDING(bf16, bf16)
HONE_EMBEDDING(f16, f16)

#define HONE_ROWS(name, T)                                                                       \
  HONE_KERNEL(rope_##name, const T* x, const int32_t* positions, const float* inv_freq, T* y,    \
              int64_t rows, int64_t heads, int64_t half, int64_t size, float scale, float sign,  \
              int neighbours) {                                                                  \
    turn_pairs(x, positions, inv_freq, y, rows, heads, half, size, scale, sign, neighbours);     \
  }                                                                                              \
  HONE_KERNEL(dropout_##name, const T* x, const int64_t* rng, const int64_t* samples,            \
              const int32_t* positions, const T* residual, T* y, int64_t rows, int64_t channels, \
              uint64_t place, uint32_t threshold, float scale) {                                 \
    drop(x, rng, samples, positions, residual, y, rows, channels, place, threshold, scale);      \
  }                                                                                              \
  HONE_TILE_KERNEL(dropout_sums_##name, const T* x, const int64_t* rng, const int64_t* samples,  \
                   const int32_t* positions, const T* residual, T* y, float* parts,              \
                   int64_t rows, int64_t channels, uint64_t place, uint32_t threshold,           \
                   float scale) {                                                                \
    drop_sums(x, rng, samples, positions, residual, y, parts, rows, channels, place, threshold,  \
              scale);                                                                            \
  }
HONE_ROWS(f32, float)
HONE_ROWS(bf16, bf16)
HONE_ROWS(f16, f16)

}  // namespace hone::cuda
