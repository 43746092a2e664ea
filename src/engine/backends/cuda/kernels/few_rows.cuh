// Products of few rows (the op linear) with a weight in the form in which it is stored: in blocks, i8 with a scale for
// each column, or floats whose type differs from that of x. A warp computes a column of the result, whose weights are a
// row of the payload. They are read once for all rows of x; the weight is not copied.
#include "engine/backends/cuda/kernels/blocks.cuh"
#include "engine/backends/cuda/kernels/column_packs.cuh"
#include "engine/backends/cuda/kernels/norms.cuh"

namespace hone::cuda {

// The addresses of the weight and its scales; null for those that the form does not have.
struct StoredWeight {
  const uint8_t* payload;
  const void* scales;  // f32, or of another type for i8
  const uint8_t* codes_of_scales;
  const float *nested, *offset;
};
// Element i of the weight, seen as one row.
__device__ __forceinline__ float stored_at(const StoredWeight& w, const FewRows& f, int64_t i,
                                           const Codes& codes, const Map& map) {
  if (f.form == StoredForm::i8) return static_cast<int8_t>(w.payload[i]);
  if (f.form == StoredForm::blocks)
    return element_of(f.format, w.payload + i / f.block * f.bytes, static_cast<int>(i % f.block));
  const int64_t group = f.scaled == 0 ? i / f.inner : i / f.scaled;
  const float scale = w.codes_of_scales == nullptr
                          ? static_cast<const float*>(w.scales)[group]
                          : map.of[w.codes_of_scales[group]] * w.nested[group / 256] + w.offset[0];
  if (f.scaled == 0) return static_cast<int8_t>(w.payload[i]) * scale / 127.0f;
  const uint8_t both = w.payload[i / 2];
  return codes.of[i % 2 == 0 ? both >> 4 : both & 15] * scale;
}

// A lane's part of the products of all rows with a column of the weight.
template <int kRows>
__device__ __forceinline__ void add_floats(float (&sums)[kRows], const void* x, const uint8_t* payload,
                                           int64_t column, int lane, const FewRows& f) {
  const bool whole = f.inner % kNormed == 0 && is_whole(x) && is_whole(payload);
  for (int64_t i = lane * kNormed; i < f.inner; i += kWarp * kNormed) {
    const int count = f.inner - i < kNormed ? static_cast<int>(f.inner - i) : kNormed;
    float weight[kNormed];
    read(weight, payload, f.stored, column * f.inner + i, count, whole);
    HONE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      if (r >= f.rows) continue;
      float of_x[kNormed];
      read(of_x, x, f.x, r * f.inner + i, count, whole);
      HONE_UNROLL
      for (int e = 0; e < kNormed; ++e) sums[r] += of_x[e] * weight[e];
    }
  }
}
template <int kRows>
__device__ __forceinline__ void add_stored(float (&sums)[kRows], const void* x, const StoredWeight& w,
                                           int64_t column, int lane, const FewRows& f,
                                           const Codes& codes, const Map& map) {
  for (int64_t i = lane; i < f.inner; i += kWarp) {
    const float weight = kept_as(stored_at(w, f, column * f.inner + i, codes, map), f.weight);
    HONE_UNROLL
    for (int r = 0; r < kRows; ++r)
      if (r < f.rows) sums[r] += kept_as(element_at(x, f.x, r * f.inner + i), f.rounded) * weight;
  }
}

template <int kRows>
__device__ __forceinline__ void multiply_few(const void* x, const StoredWeight& w, const void* bias,
                                             const void* onto, void* z, const FewRows& f,
                                             const Codes& of_scheme, const Map& given) {
  __shared__ Map map;
  __shared__ Codes codes;
  if (w.codes_of_scales != nullptr) share_map(map, given);
  if (threadIdx.x < 16) codes.of[threadIdx.x] = of_scheme.of[threadIdx.x];
  __syncthreads();
  constexpr int kWarps = kBlock / kWarp;
  const int lane = static_cast<int>(threadIdx.x) % kWarp;
  const int64_t first = static_cast<int64_t>(blockIdx.x) * kWarps + threadIdx.x / kWarp;
  for (int64_t column = first; column < f.columns; column += static_cast<int64_t>(gridDim.x) * kWarps) {
    float sums[kRows] = {};
    if (f.form == StoredForm::floats)
      add_floats(sums, x, w.payload, column, lane, f);
    else
      add_stored(sums, x, w, column, lane, f, codes, map);
    HONE_UNROLL
    for (int r = 0; r < kRows; ++r) {
      float sum = sum_warp(sums[r]);
      if (lane != 0 || r >= f.rows) continue;
      if (f.form == StoredForm::i8) sum *= element_at(w.scales, f.scale, column);
      if (bias != nullptr) sum += kept_as(element_at(bias, f.bias, column), f.z);
      const int64_t at = r * f.columns + column;
      if (onto != nullptr) sum += element_at(onto, f.z, at);
      put_element(z, f.z, at, sum);
    }
  }
}

#define HONE_FEW_ROWS(rows)                                                                       \
  HONE_TILE_KERNEL(few_rows_##rows, const void* x, const uint8_t* payload, const void* scales,    \
              const uint8_t* codes_of_scales, const float* nested, const float* offset,           \
              const void* bias, const void* onto, void* z, FewRows f,                             \
              const __grid_constant__ Codes codes, const __grid_constant__ Map map) {             \
    multiply_few<rows>(x, {payload, scales, codes_of_scales, nested, offset}, bias, onto, z, f,   \
                       codes, map);                                                               \
  }
HONE_FEW_ROWS(1)
HONE_FEW_ROWS(4)
HONE_FEW_ROWS(16)

}  // namespace hone::cuda
