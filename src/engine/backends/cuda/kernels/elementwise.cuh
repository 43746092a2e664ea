// One element of the result from one of each operand. A scalar operand has step 0.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

// out[i] = f(in[i]).
template <class In, class Out, class F>
__device__ __forceinline__ void map_one(const In* in, Out* out, int64_t n, F f) {
  constexpr int N = 16 / sizeof(Out) < 8 ? 16 / sizeof(Out) : 8;
  for_packs<N>(
      n, is_whole(in) && is_whole(out),
      [&](int64_t i) {
        Wide<In> x[N];
        load<N>(x, in + i);
        Wide<Out> y[N];
        HONE_UNROLL
        for (int e = 0; e < N; ++e) y[e] = f(x[e]);
        store<N>(out + i, y);
      },
      [&](int64_t i) { out[i] = Narrow<Out>::of(f(wide(in[i]))); });
}
// N elements from i on, or one for all of them.
template <int N, class T>
__device__ __forceinline__ void load_by(Wide<T> (&x)[N], const T* from, int64_t i, int step) {
  if (step != 0) {
    load<N>(x, from + i);
    return;
  }
  HONE_UNROLL
  for (int e = 0; e < N; ++e) x[e] = wide(from[0]);
}
// out[i] = f(left[i], right[i]).
template <class In, class Out, class F>
__device__ __forceinline__ void map_two(const In* left, const In* right, Out* out, int64_t n,
                                        int step_x, int step_y, F f) {
  constexpr int N = kPacked<In, Out>;
  const bool whole =
      is_whole(out) && (step_x == 0 || is_whole(left)) && (step_y == 0 || is_whole(right));
  for_packs<N>(
      n, whole,
      [&](int64_t i) {
        Wide<In> x[N], y[N];
        load_by<N>(x, left, i, step_x);
        load_by<N>(y, right, i, step_y);
        Wide<Out> z[N];
        HONE_UNROLL
        for (int e = 0; e < N; ++e) z[e] = f(x[e], y[e]);
        store<N>(out + i, z);
      },
      [&](int64_t i) {
        out[i] = Narrow<Out>::of(f(wide(left[i * step_x]), wide(right[i * step_y])));
      });
}

#define HONE_UNARY(name, T, expression)                                     \
  HONE_KERNEL(name, const T* in, T* out, int64_t n) {                       \
    map_one(in, out, n, [](Wide<T> x) -> Wide<T> { return expression; });   \
  }
#define HONE_UNARY_FLOATS(name, in_float, in_double) \
  HONE_UNARY(name##_f64, double, in_double)          \
  HONE_UNARY(name##_f32, float, in_float)            \
  HONE_UNARY(name##_bf16, bf16, in_float)            \
  HONE_UNARY(name##_f16, f16, in_float)

HONE_UNARY_FLOATS(neg, -x, -x)
HONE_UNARY_FLOATS(exp, expf(x), exp(x))
HONE_UNARY_FLOATS(log, logf(x), log(x))
HONE_UNARY_FLOATS(tanh, tanhf(x), tanh(x))
HONE_UNARY_FLOATS(erf, erff(x), erf(x))
HONE_UNARY_FLOATS(sqrt, sqrtf(x), sqrt(x))
HONE_UNARY_FLOATS(sin, sinf(x), sin(x))
HONE_UNARY_FLOATS(cos, cosf(x), cos(x))
HONE_UNARY(neg_i64, int64_t, -x)
HONE_UNARY(neg_i32, int32_t, -x)

#define HONE_BINARY(name, T, R, expression)                                                     \
  HONE_KERNEL(name, const T* left, const T* right, R* out, int64_t n, int step_x, int step_y) { \
    map_two(left, right, out, n, step_x, step_y,                                                \
            [](Wide<T> x, Wide<T> y) -> Wide<R> { return expression; });                        \
  }
#define HONE_BINARY_NUMBERS(name, expression)            \
  HONE_BINARY(name##_f64, double, double, expression)    \
  HONE_BINARY(name##_f32, float, float, expression)      \
  HONE_BINARY(name##_bf16, bf16, bf16, expression)       \
  HONE_BINARY(name##_f16, f16, f16, expression)          \
  HONE_BINARY(name##_i64, int64_t, int64_t, expression)  \
  HONE_BINARY(name##_i32, int32_t, int32_t, expression)

HONE_BINARY_NUMBERS(add, x + y)
HONE_BINARY_NUMBERS(sub, x - y)
HONE_BINARY_NUMBERS(mul, x* y)
HONE_BINARY_NUMBERS(div, x / y)
HONE_BINARY_NUMBERS(maximum, x != x || x > y ? x : y)
HONE_BINARY_NUMBERS(minimum, x != x || x < y ? x : y)
HONE_BINARY(maximum_bool, uint8_t, uint8_t, x > y ? x : y)
HONE_BINARY(minimum_bool, uint8_t, uint8_t, x < y ? x : y)

#define HONE_COMPARE(name, expression)                      \
  HONE_BINARY(name##_f64, double, uint8_t, expression)      \
  HONE_BINARY(name##_f32, float, uint8_t, expression)       \
  HONE_BINARY(name##_bf16, bf16, uint8_t, expression)       \
  HONE_BINARY(name##_f16, f16, uint8_t, expression)         \
  HONE_BINARY(name##_i64, int64_t, uint8_t, expression)     \
  HONE_BINARY(name##_i32, int32_t, uint8_t, expression)     \
  HONE_BINARY(name##_u8, uint8_t, uint8_t, expression)      \
  HONE_BINARY(name##_bool, uint8_t, uint8_t, expression)

HONE_COMPARE(compare_eq, x == y)
HONE_COMPARE(compare_ne, x != y)
HONE_COMPARE(compare_lt, x < y)
HONE_COMPARE(compare_le, x <= y)
HONE_COMPARE(compare_gt, x > y)
HONE_COMPARE(compare_ge, x >= y)

template <class T>
__device__ __forceinline__ void select_all(const uint8_t* condition, const T* x, const T* y, T* out,
                                           int64_t n, int step_condition, int step_x, int step_y) {
  constexpr int N = kPacked<T, T>;
  const bool whole = is_whole(out) && (step_condition == 0 || is_whole(condition)) &&
                     (step_x == 0 || is_whole(x)) && (step_y == 0 || is_whole(y));
  for_packs<N>(
      n, whole,
      [&](int64_t i) {
        uint8_t c[N];
        T of_x[N], of_y[N];
        load_by<N>(c, condition, i, step_condition);
        load_by<N>(of_x, x, i, step_x);
        load_by<N>(of_y, y, i, step_y);
        HONE_UNROLL
        for (int e = 0; e < N; ++e) of_x[e] = c[e] != 0 ? of_x[e] : of_y[e];
        store<N>(out + i, of_x);
      },
      [&](int64_t i) {
        out[i] = condition[i * step_condition] != 0 ? x[i * step_x] : y[i * step_y];
      });
}
// By the size of an element.
#define HONE_SELECT(bytes, T)                                                                    \
  HONE_KERNEL(select_##bytes, const uint8_t* condition, const T* x, const T* y, T* out, int64_t n, \
              int step_condition, int step_x, int step_y) {                                      \
    select_all(condition, x, y, out, n, step_condition, step_x, step_y);                         \
  }
HONE_SELECT(1, uint8_t)
HONE_SELECT(2, uint16_t)
HONE_SELECT(4, uint32_t)
HONE_SELECT(8, uint64_t)

// Floats to integers truncate, anything to bool is x != 0; `most`: finite floats are clamped to it.
template <class From, class To>
__device__ __forceinline__ void cast_all(const From* __restrict__ in, To* __restrict__ out,
                                         int64_t n, double most) {
  if (most > 0) {
    map_one(in, out, n, [most](Wide<From> x) -> Wide<To> {
      if (x - x == 0) {
        if (static_cast<double>(x) > most) x = static_cast<Wide<From>>(most);
        if (static_cast<double>(x) < -most) x = static_cast<Wide<From>>(-most);
      }
      return static_cast<Wide<To>>(x);
    });
    return;
  }
  map_one(in, out, n, [](Wide<From> x) -> Wide<To> { return static_cast<Wide<To>>(x); });
}
template <class From>
__device__ __forceinline__ void cast_to_bool(const From* __restrict__ in,
                                             uint8_t* __restrict__ out, int64_t n) {
  map_one(in, out, n, [](Wide<From> x) -> uint8_t { return x != 0; });
}

#define HONE_CAST(from, F, to, T)                                                    \
  HONE_KERNEL(cast_##from##_##to, const F* in, T* out, int64_t n, double most) {     \
    cast_all(in, out, n, most);                                                      \
  }
#define HONE_CASTS(from, F)                                                          \
  HONE_CAST(from, F, f64, double)                                                    \
  HONE_CAST(from, F, f32, float)                                                     \
  HONE_CAST(from, F, bf16, bf16)                                                     \
  HONE_CAST(from, F, f16, f16)                                                       \
  HONE_CAST(from, F, i64, int64_t)                                                   \
  HONE_CAST(from, F, i32, int32_t)                                                   \
  HONE_CAST(from, F, i8, int8_t)                                                     \
  HONE_CAST(from, F, u8, uint8_t)                                                    \
  HONE_KERNEL(cast_##from##_bool, const F* in, uint8_t* out, int64_t n, double most) { \
    cast_to_bool(in, out, n);                                                        \
  }
HONE_CASTS(f64, double)
HONE_CASTS(f32, float)
HONE_CASTS(bf16, bf16)
HONE_CASTS(f16, f16)
HONE_CASTS(i64, int64_t)
HONE_CASTS(i32, int32_t)
HONE_CASTS(i8, int8_t)
HONE_CASTS(u8, uint8_t)
HONE_CASTS(bool, uint8_t)

// A matrix of out_rows rows that begin `step` elements apart: that of the input, and zeros. A block for each row.
template <class From, class To>
__device__ void pad_rows(const From* in, To* out, int64_t rows, int64_t columns, int64_t out_rows,
                         int64_t step) {
  for (int64_t row = blockIdx.x; row < out_rows; row += gridDim.x)
    for (int64_t j = threadIdx.x; j < step; j += kBlock) {
      const bool is_there = row < rows && j < columns;
      out[row * step + j] = Narrow<To>::of(is_there ? wide(in[row * columns + j]) : 0.0f);
    }
}
#define HONE_PAD_ROWS(from, F, to, T)                                                         \
  HONE_KERNEL(pad_rows_##from##_##to, const F* in, T* out, int64_t rows, int64_t columns,     \
              int64_t out_rows, int64_t step) {                                               \
    pad_rows(in, out, rows, columns, out_rows, step);                                         \
  }
HONE_PAD_ROWS(f32, float, bf16, bf16)
HONE_PAD_ROWS(f32, float, f16, f16)
HONE_PAD_ROWS(bf16, bf16, bf16, bf16)
HONE_PAD_ROWS(f16, f16, f16, f16)

}  // namespace hone::cuda
