// The rows of linear_cross_entropy (engine/ops/linear_cross_entropy.cc), a block for each.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// logits [rows,columns] without their bias. Where it is asked for, the gradient of the logits goes to d,
// which may be where they are.
template <class T>
__device__ void cross_entropy_rows(const float* logits, const T* bias, const int32_t* labels,
                                   const float* scale, float* nll, int32_t* correct, T* d,
                                   int64_t rows, int64_t columns, float smoothing) {
  const auto plus = [](float x, float y) { return x + y; };
  const float share = smoothing / static_cast<float>(columns);
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    const auto at = [&](int64_t j) {
      return logits[row * columns + j] + (bias != nullptr ? wide(bias[j]) : 0.0f);
    };
    const int64_t label = labels[row];
    const float picked = label >= 0 ? at(label) : 0.0f;
    float most = -1.0f / 0.0f, all = 0;
    for (int64_t j = threadIdx.x; j < columns; j += kBlock) {
      const float x = at(j);
      if (x != x || x > most) most = x;
      all += x;
    }
    most = reduce_block(most, [](float x, float y) { return y != y || y > x ? y : x; });
    float sum = 0;
    int64_t first = columns;  // the first column that holds the largest logit
    for (int64_t j = threadIdx.x; j < columns; j += kBlock) {
      const float x = at(j);
      sum += expf(x - most);
      if (x == most && j < first) first = j;
    }
    sum = reduce_block(sum, plus);
    all = reduce_block(all, plus);
    first = reduce_block(first, [](int64_t x, int64_t y) { return y < x ? y : x; });
    const bool is_valid = label >= 0;
    if (threadIdx.x == 0) {
      const float of_label = picked * (1.0f - smoothing) + (smoothing != 0 ? all * share : 0.0f);
      nll[row] = is_valid ? logf(sum) + most - of_label : 0.0f;
      correct[row] = is_valid && first == label ? 1 : 0;
    }
    if (d == nullptr) continue;
    for (int64_t j = threadIdx.x; j < columns; j += kBlock) {
      const float p = expf(at(j) - most) / sum;
      const float q = (j == label ? 1.0f - smoothing : 0.0f) + share;
      d[row * columns + j] = Narrow<T>::of(is_valid ? (p - q) * scale[0] : 0.0f);
    }
  }
}

#define HONE_CROSS_ENTROPY(name, T)                                                              \
  HONE_KERNEL(cross_entropy_##name, const float* logits, const T* bias, const int32_t* labels,   \
              const float* scale, float* nll, int32_t* correct, T* d, int64_t rows,              \
              int64_t columns, float smoothing) {                                                \
    cross_entropy_rows(logits, bias, labels, scale, nll, correct, d, rows, columns, smoothing);  \
  }
HONE_CROSS_ENTROPY(f32, float)
HONE_CROSS_ENTROPY(bf16, bf16)
HONE_CROSS_ENTROPY(f16, f16)

// logits [rows,columns] in 16 bits, without their bias; rows begin `step` elements apart. Two passes
// over a row; where has_gradients is set the second one writes the gradient over the logits, and
// zeros behind them.
template <class T>
__device__ void cross_entropy_in_place(T* logits, const float* bias, const int32_t* labels,
                                       const float* scale, float* nll, int32_t* correct,
                                       int64_t rows, int64_t columns, int64_t step,
                                       float smoothing, int has_gradients) {
  const auto plus = [](float x, float y) { return x + y; };
  const float share = smoothing / static_cast<float>(columns), nothing = -1.0f / 0.0f;
  for (int64_t row = blockIdx.x; row < rows; row += gridDim.x) {
    T* const mine = logits + row * step;
    const auto at = [&](int64_t j) {
      return wide(mine[j]) + (bias != nullptr ? bias[j] : 0.0f);
    };
    const int64_t label = labels[row];
    const float picked = label >= 0 ? at(label) : 0.0f;
    float own = nothing, sum = 0, all = 0;  // the largest that this thread has met
    int64_t first = columns;                // where it was met first
    for (int64_t j = threadIdx.x; j < columns; j += kBlock) {
      const float x = at(j);
      all += x;
      if (x != x || x > own) {
        sum = sum * expf(own - x) + 1.0f;
        own = x;
        first = j;
      } else if (x > nothing) {
        sum += expf(x - own);
      }
    }
    const float most =
        reduce_block(own, [](float x, float y) { return y != y || y > x ? y : x; });
    sum = reduce_block(own == nothing ? 0.0f : sum * expf(own - most), plus);
    all = reduce_block(all, plus);
    if (own != most) first = columns;
    first = reduce_block(first, [](int64_t x, int64_t y) { return y < x ? y : x; });
    const bool is_valid = label >= 0;
    if (threadIdx.x == 0) {
      const float of_label = picked * (1.0f - smoothing) + (smoothing != 0 ? all * share : 0.0f);
      nll[row] = is_valid ? logf(sum) + most - of_label : 0.0f;
      correct[row] = is_valid && first == label ? 1 : 0;
    }
    if (has_gradients == 0) continue;
    for (int64_t j = threadIdx.x; j < step; j += kBlock) {
      float d = 0;
      if (is_valid && j < columns) {
        const float q = (j == label ? 1.0f - smoothing : 0.0f) + share;
        d = (expf(at(j) - most) / sum - q) * scale[0];
      }
      mine[j] = Narrow<T>::of(d);
    }
  }
}

#define HONE_CROSS_ENTROPY_IN_PLACE(name, T)                                                     \
  HONE_KERNEL(cross_entropy_in_place_##name, T* logits, const float* bias,                       \
              const int32_t* labels, const float* scale, float* nll, int32_t* correct,           \
              int64_t rows, int64_t columns, int64_t step, float smoothing, int has_gradients) { \
    cross_entropy_in_place(logits, bias, labels, scale, nll, correct, rows, columns, step,       \
                           smoothing, has_gradients);                                            \
  }
HONE_CROSS_ENTROPY_IN_PLACE(bf16, bf16)
HONE_CROSS_ENTROPY_IN_PLACE(f16, f16)

// One block.
HONE_KERNEL(scaled_sum, const float* x, const float* scale, float* out, int64_t n) {
  float sum = 0;
  for (int64_t i = threadIdx.x; i < n; i += kBlock) sum += x[i];
  sum = reduce_block(sum, [](float a, float b) { return a + b; });
  if (threadIdx.x == 0) out[0] = sum * scale[0];
}

}  // namespace hone::cuda
