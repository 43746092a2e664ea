// Adafactor (engine/ops/adafactor.cc), with clipping and the scale of the loss on the device: a pass over the
// gradient for the sums of each axis, one for the size of the change, one for the weights. All is in f32,
// the size of the change in f64. Sums have a fixed order.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// What a state keeps of itself, and takes of the new mean. A step whose gradients are not finite changes
// nothing.
struct Mixing {
  float keep, take;
};
__device__ __forceinline__ Mixing mixing_of(const int64_t* step, const double* g_scale,
                                            const Factored& f) {
  __shared__ Mixing shared;
  if (threadIdx.x == 0) {
    const double take = pow(static_cast<double>(step[0]), f.decay_rate);
    shared.keep = static_cast<float>(1 - take);
    shared.take = static_cast<float>(take);
    if (!(g_scale[0] - g_scale[0] == 0)) shared = {1, 0};
  }
  __syncthreads();
  return shared;
}
__device__ __forceinline__ float mixed(const Mixing& m, float old, float fresh) {
  return m.take == 0 ? old : old * m.keep + fresh * m.take;
}

// A row's state: a warp for each.
template <class G>
__device__ void factored_rows(const G* g, const float* old, const int64_t* step,
                              const double* g_scale, float* row, const Factored& f) {
  const Mixing m = mixing_of(step, g_scale, f);
  const auto scale = static_cast<float>(g_scale[0]);
  const int64_t lane = threadIdx.x % kWarp, count = f.matrices * f.rows;
  for (int64_t w = first_of_all() / kWarp; w < count; w += all_threads() / kWarp) {
    float sum = 0;
    for (int64_t c = lane; c < f.columns; c += kWarp) {
      const float x = wide(g[w * f.columns + c]) * scale;
      sum += x * x;
    }
    sum = sum_warp(sum);
    if (lane == 0)
      row[w] = mixed(m, old[w],
                     sum / static_cast<float>(f.columns) + static_cast<float>(f.eps));
  }
}

// Parts of a column's sum, [parts, matrices, columns]: a thread for each.
template <class G>
__device__ void factored_column_parts(const G* g, const double* g_scale, float* parts,
                                      const Factored& f) {
  const auto scale = static_cast<float>(g_scale[0]);
  const int64_t count = f.matrices * f.columns, begin = blockIdx.y * f.part_rows;
  const int64_t end = begin + f.part_rows < f.rows ? begin + f.part_rows : f.rows;
  for (int64_t i = first_of_all(); i < count; i += all_threads()) {
    const G* from = g + i / f.columns * f.rows * f.columns + i % f.columns;
    float sum = 0;
    for (int64_t r = begin; r < end; ++r) {
      const float x = wide(from[r * f.columns]) * scale;
      sum += x * x;
    }
    parts[blockIdx.y * count + i] = sum;
  }
}
HONE_KERNEL(factored_columns, const float* parts, const float* old, const int64_t* step,
            const double* g_scale, float* column, Factored f) {
  const Mixing m = mixing_of(step, g_scale, f);
  const int64_t count = f.matrices * f.columns, all = (f.rows + f.part_rows - 1) / f.part_rows;
  for (int64_t i = first_of_all(); i < count; i += all_threads()) {
    float sum = 0;
    for (int64_t p = 0; p < all; ++p) sum += parts[p * count + i];
    column[i] =
        mixed(m, old[i], sum / static_cast<float>(f.rows) + static_cast<float>(f.eps));
  }
}
// The mean of a matrix's rows: a block for each.
HONE_KERNEL(factored_means, const float* row, float* means, Factored f) {
  row += blockIdx.x * f.rows;
  float sum = 0;
  for (int64_t r = threadIdx.x; r < f.rows; r += kBlock) sum += row[r];
  sum = reduce_block(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) means[blockIdx.x] = sum / static_cast<float>(f.rows);
}
// The state of a vector or scalar.
template <class G>
__device__ void unfactored_states(const G* g, const float* old, const int64_t* step,
                                  const double* g_scale, float* state, const Factored& f) {
  const Mixing m = mixing_of(step, g_scale, f);
  const auto scale = static_cast<float>(g_scale[0]);
  for (int64_t i = first_of_all(); i < f.columns; i += all_threads()) {
    const float x = wide(g[i]) * scale;
    state[i] = mixed(m, old[i], x * x + static_cast<float>(f.eps));
  }
}

// Calls visit(element, its change before it is clipped). A vector is one row, whose `row` is null.
template <class G, class Visit>
__device__ __forceinline__ void changes(const G* g, const float* row, const float* column,
                                        const float* means, const double* g_scale,
                                        const Factored& f, Visit visit) {
  const auto scale = static_cast<float>(g_scale[0]);
  for (int64_t r = blockIdx.x; r < f.matrices * f.rows; r += gridDim.x) {
    const int64_t matrix = r / f.rows;
    const float by_row = row == nullptr ? 1.0f : 1.0f / sqrtf(row[r] / means[matrix]);
    for (int64_t c = threadIdx.x; c < f.columns; c += kBlock) {
      const int64_t i = r * f.columns + c;
      visit(i, wide(g[i]) * scale * by_row * (1.0f / sqrtf(column[matrix * f.columns + c])));
    }
  }
}
template <class G>
__device__ void factored_squares(const G* g, const float* row, const float* column,
                                 const float* means, const double* g_scale, double* parts,
                                 const Factored& f) {
  double sum = 0;
  changes(g, row, column, means, g_scale, f, [&](int64_t, float u) {
    sum += static_cast<double>(u) * static_cast<double>(u);
  });
  sum = reduce_block(sum, [](double a, double b) { return a + b; });
  if (threadIdx.x == 0) parts[blockIdx.x] = sum;
}
template <class G>
__device__ void factored_update(const float* p, const G* g, const float* row, const float* column,
                                const float* means, const double* parts, const double* lr,
                                const double* g_scale, float* out, const Factored& f) {
  double sum = 0;
  for (int64_t i = threadIdx.x; i < f.square_parts; i += kBlock) sum += parts[i];
  sum = reduce_block(sum, [](double a, double b) { return a + b; });
  const auto count = static_cast<double>(f.matrices * f.rows * f.columns);
  const double large = sqrt(sum / count) / f.clip_threshold;
  const auto by = static_cast<float>(lr[0] / (large > 1 || large != large ? large : 1));
  const auto shrink = static_cast<float>(1 - lr[0] * f.decay);
  const bool is_finite = g_scale[0] - g_scale[0] == 0;
  changes(g, row, column, means, g_scale, f, [&](int64_t i, float u) {
    out[i] = is_finite ? p[i] * shrink - u * by : p[i];
  });
}

#define HONE_FACTORED(name, G)                                                                    \
  HONE_KERNEL(factored_rows_##name, const G* g, const float* old, const int64_t* step,            \
              const double* g_scale, float* row, Factored f) {                                    \
    factored_rows(g, old, step, g_scale, row, f);                                                 \
  }                                                                                               \
  HONE_KERNEL(factored_column_parts_##name, const G* g, const double* g_scale, float* parts,      \
              Factored f) {                                                                       \
    factored_column_parts(g, g_scale, parts, f);                                                  \
  }                                                                                               \
  HONE_KERNEL(unfactored_states_##name, const G* g, const float* old, const int64_t* step,        \
              const double* g_scale, float* state, Factored f) {                                  \
    unfactored_states(g, old, step, g_scale, state, f);                                           \
  }                                                                                               \
  HONE_KERNEL(factored_squares_##name, const G* g, const float* row, const float* column,         \
              const float* means, const double* g_scale, double* parts, Factored f) {             \
    factored_squares(g, row, column, means, g_scale, parts, f);                                   \
  }                                                                                               \
  HONE_KERNEL(factored_update_##name, const float* p, const G* g, const float* row,               \
              const float* column, const float* means, const double* parts, const double* lr,     \
              const double* g_scale, float* out, Factored f) {                                    \
    factored_update(p, g, row, column, means, parts, lr, g_scale, out, f);                        \
  }
HONE_FACTORED(f32, float)
HONE_FACTORED(bf16, bf16)
HONE_FACTORED(f16, f16)

}  // namespace hone::cuda
