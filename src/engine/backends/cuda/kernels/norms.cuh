// layer_norm and rms_norm (engine/ops), a warp for each row, with statistics in f32. Sums over rows are
// made of parts, a part for each range of rows, which are then added in order.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

__device__ __forceinline__ int lane_of_warp() { return static_cast<int>(threadIdx.x) % kWarp; }

template <class T>
__device__ void layer_norm_rows(const T* x, const T* gamma, const T* beta, T* y, float* mean_of,
                                float* rstd_of, int64_t rows, int64_t columns, float eps) {
  for (int64_t row = first_of_all() / kWarp; row < rows; row += all_threads() / kWarp) {
    const T* of_x = x + row * columns;
    float sum = 0;
    for (int64_t j = lane_of_warp(); j < columns; j += kWarp) sum += wide(of_x[j]);
    const float mean = sum_warp(sum) / static_cast<float>(columns);
    float squares = 0;
    for (int64_t j = lane_of_warp(); j < columns; j += kWarp) {
      const float centred = wide(of_x[j]) - mean;
      squares += centred * centred;
    }
    const float rstd = 1.0f / sqrtf(sum_warp(squares) / static_cast<float>(columns) + eps);
    for (int64_t j = lane_of_warp(); j < columns; j += kWarp) {
      float v = (wide(of_x[j]) - mean) * rstd * wide(gamma[j]);
      if (beta != nullptr) v += wide(beta[j]);
      y[row * columns + j] = Narrow<T>::of(v);
    }
    if (lane_of_warp() == 0) {
      mean_of[row] = mean;
      rstd_of[row] = rstd;
    }
  }
}

template <class T>
__device__ void rms_norm_rows(const T* x, const T* gamma, T* y, float* rstd_of, int64_t rows,
                              int64_t columns, float eps) {
  for (int64_t row = first_of_all() / kWarp; row < rows; row += all_threads() / kWarp) {
    const T* of_x = x + row * columns;
    float squares = 0;
    for (int64_t j = lane_of_warp(); j < columns; j += kWarp) {
      const float v = wide(of_x[j]);
      squares += v * v;
    }
    const float rstd = 1.0f / sqrtf(sum_warp(squares) / static_cast<float>(columns) + eps);
    for (int64_t j = lane_of_warp(); j < columns; j += kWarp) {
      const T xhat = Narrow<T>::of(wide(of_x[j]) * rstd);  // as Transformers rounds it
      y[row * columns + j] = Narrow<T>::of(wide(xhat) * wide(gamma[j]));
    }
    if (lane_of_warp() == 0) rstd_of[row] = rstd;
  }
}

// mean: null for rms_norm.
template <class T>
__device__ void norm_grad_rows(const T* x, const T* gamma, const float* mean_of,
                               const float* rstd_of, const T* dy, const T* dsum, T* dx,
                               int64_t rows, int64_t columns) {
  for (int64_t row = first_of_all() / kWarp; row < rows; row += all_threads() / kWarp) {
    const int64_t first = row * columns;
    const float mean = mean_of != nullptr ? mean_of[row] : 0.0f, rstd = rstd_of[row];
    float sum = 0, with_x = 0;
    for (int64_t j = lane_of_warp(); j < columns; j += kWarp) {
      const float g = wide(dy[first + j]) * wide(gamma[j]);
      sum += g;
      with_x += g * (wide(x[first + j]) - mean) * rstd;
    }
    const float mean_g = mean_of != nullptr ? sum_warp(sum) / static_cast<float>(columns) : 0.0f;
    const float mean_gx = sum_warp(with_x) / static_cast<float>(columns);
    for (int64_t j = lane_of_warp(); j < columns; j += kWarp) {
      const float g = wide(dy[first + j]) * wide(gamma[j]);
      const float xhat = (wide(x[first + j]) - mean) * rstd;
      const T d = Narrow<T>::of(rstd * (g - mean_g - xhat * mean_gx));
      dx[first + j] =
          dsum != nullptr ? Narrow<T>::of(wide(d) + wide(dsum[first + j])) : d;
    }
  }
}

// Blocks of 32 x 8 threads: 32 columns, and rows in eight turns. f(row, column) is what is summed; the
// sum of part blockIdx.y goes to parts[part][column].
template <class F>
__device__ void sum_columns(float* parts, int64_t rows, int64_t columns, F f) {
  __shared__ float sums[8][kWarp + 1];
  const int lane = static_cast<int>(threadIdx.x), turn = static_cast<int>(threadIdx.y);
  const int64_t j = static_cast<int64_t>(blockIdx.x) * kWarp + lane, part = blockIdx.y;
  const int64_t size = (rows + gridDim.y - 1) / gridDim.y;
  const int64_t end = (part + 1) * size < rows ? (part + 1) * size : rows;
  float sum = 0;
  if (j < columns)
    for (int64_t row = part * size + turn; row < end; row += 8) sum += f(row, j);
  sums[turn][lane] = sum;
  __syncthreads();
  if (turn == 0 && j < columns) {
    for (int other = 1; other < 8; ++other) sum += sums[other][lane];
    parts[part * columns + j] = sum;
  }
  __syncthreads();
}

// out = onto (or nothing) + the parts in order.
template <class T>
__device__ void add_parts(const float* parts, const T* onto, T* out, int64_t count, int64_t columns) {
  for (int64_t j = first_of_all(); j < columns; j += all_threads()) {
    float sum = 0;
    for (int64_t part = 0; part < count; ++part) sum += parts[part * columns + j];
    if (onto != nullptr) sum += wide(onto[j]);
    out[j] = Narrow<T>::of(sum);
  }
}

#define HONE_NORMS(name, T)                                                                      \
  HONE_KERNEL(layer_norm_##name, const T* x, const T* gamma, const T* beta, T* y, float* mean,   \
              float* rstd, int64_t rows, int64_t columns, float eps) {                           \
    layer_norm_rows(x, gamma, beta, y, mean, rstd, rows, columns, eps);                          \
  }                                                                                              \
  HONE_KERNEL(rms_norm_##name, const T* x, const T* gamma, T* y, float* rstd, int64_t rows,      \
              int64_t columns, float eps) {                                                      \
    rms_norm_rows(x, gamma, y, rstd, rows, columns, eps);                                        \
  }                                                                                              \
  HONE_KERNEL(norm_grad_##name, const T* x, const T* gamma, const float* mean, const float* rstd, \
              const T* dy, const T* dsum, T* dx, int64_t rows, int64_t columns) {                \
    norm_grad_rows(x, gamma, mean, rstd, dy, dsum, dx, rows, columns);                           \
  }                                                                                              \
  HONE_KERNEL(norm_gamma_parts_##name, const T* x, const float* mean, const float* rstd,         \
              const T* dy, float* parts, int64_t rows, int64_t columns) {                        \
    sum_columns(parts, rows, columns, [=](int64_t row, int64_t j) {                              \
      const float of_mean = mean != nullptr ? mean[row] : 0.0f;                                  \
      return wide(dy[row * columns + j]) * (wide(x[row * columns + j]) - of_mean) * rstd[row];   \
    });                                                                                          \
  }                                                                                              \
  HONE_KERNEL(row_parts_##name, const T* x, float* parts, int64_t rows, int64_t columns) {       \
    sum_columns(parts, rows, columns,                                                            \
                [=](int64_t row, int64_t j) { return wide(x[row * columns + j]); });             \
  }                                                                                              \
  HONE_KERNEL(add_parts_##name, const float* parts, const T* onto, T* out, int64_t count,        \
              int64_t columns) {                                                                 \
    add_parts(parts, onto, out, count, columns);                                                 \
  }
HONE_NORMS(f32, float)
HONE_NORMS(bf16, bf16)
HONE_NORMS(f16, f16)

}  // namespace hone::cuda
