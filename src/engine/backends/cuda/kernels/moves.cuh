// Elements that go to other places, and those that depend on their place only. Names have the size of
// an element in bytes; those of 16 bytes are several beside each other, at addresses that may be any.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

using Sixteen = Quad;

template <class T>
__device__ __forceinline__ void move_element(T* to, const T* from, bool) {
  *to = *from;
}
__device__ __forceinline__ void move_element(Sixteen* to, const Sixteen* from, bool whole) {
  if (whole) {
    *to = *from;
    return;
  }
  for (int b = 0; b < 16; ++b)
    reinterpret_cast<uint8_t*>(to)[b] = reinterpret_cast<const uint8_t*>(from)[b];
}

// f(i) for all i below n, where an index has 32 bits if n fits into them: divisions are slow.
template <class F>
__device__ __forceinline__ void for_each(int64_t n, F f) {
  if (n < 0x40000000) {
    const auto end = static_cast<uint32_t>(n), step = static_cast<uint32_t>(all_threads());
    for (auto i = static_cast<uint32_t>(first_of_all()); i < end; i += step) f(i);
  } else {
    for (int64_t i = first_of_all(); i < n; i += all_threads()) f(i);
  }
}
template <class I>
__device__ __forceinline__ int64_t moved_from(const Strided& s, I i) {
  int64_t at = s.first;
  for (int d = s.rank - 1; d > 0; --d) {
    const auto size = static_cast<I>(s.size[d]);
    at += static_cast<int64_t>(i % size) * s.stride[d];
    i /= size;
  }
  return s.rank > 0 ? at + static_cast<int64_t>(i) * s.stride[0] : at;
}

template <class T>
__device__ __forceinline__ void fill_all(T* out, int64_t n, T value) {
  constexpr int N = 16 / sizeof(T);
  T values[N];
  HONE_UNROLL
  for (int e = 0; e < N; ++e) values[e] = value;
  for_packs<N>(
      n, is_whole(out), [&](int64_t i) { store<N>(out + i, values); },
      [&](int64_t i) { out[i] = value; });
}
#define HONE_FILL(bytes, T) \
  HONE_KERNEL(fill_##bytes, T* out, int64_t n, T value) { fill_all(out, n, value); }
HONE_FILL(1, uint8_t)
HONE_FILL(2, uint16_t)
HONE_FILL(4, uint32_t)
HONE_FILL(8, uint64_t)

// move: from other strides.
template <class T>
struct Moves {
  const T* in;
  T* out;
  const Strided& from;
  bool whole;
  template <class I>
  __device__ __forceinline__ void operator()(I i) const {
    move_element(out + i, in + moved_from(from, i), whole);
  }
};
// place: rows of `columns` elements, which begin `stride` apart.
template <class T>
struct Places {
  const T* in;
  T* out;
  int64_t columns, stride;
  bool whole;
  template <class I>
  __device__ __forceinline__ void operator()(I i) const {
    const auto size = static_cast<I>(columns);
    move_element(out + i / size * stride + i % size, in + i, whole);
  }
};
// gather_rows: rows of a table, zeros for ids below 0.
template <class T>
struct Gathers {
  const T* table;
  const int32_t* ids;
  T* out;
  int64_t columns;
  bool whole;
  template <class I>
  __device__ __forceinline__ void operator()(I i) const {
    const auto size = static_cast<I>(columns);
    const int64_t id = ids[i / size];
    const T zero = {};
    if (id < 0)
      move_element(out + i, &zero, whole);
    else
      move_element(out + i, table + (id * columns + i % size), whole);
  }
};
// put_rows: rows to those of a table, none for ids below 0.
template <class T>
struct Puts {
  const T* in;
  const int32_t* ids;
  T* table;
  int64_t columns;
  bool whole;
  template <class I>
  __device__ __forceinline__ void operator()(I i) const {
    const auto size = static_cast<I>(columns);
    const int64_t id = ids[i / size];
    if (id >= 0) move_element(table + (id * columns + i % size), in + i, whole);
  }
};

#define HONE_MOVES(bytes, T)                                                                    \
  HONE_KERNEL(move_##bytes, const T* in, T* out, int64_t n, const __grid_constant__ Strided from) { \
    for_each(n, Moves<T>{in, out, from, is_whole(in) && is_whole(out)});                        \
  }                                                                                             \
  HONE_KERNEL(place_##bytes, const T* in, T* out, int64_t n, int64_t columns, int64_t stride) { \
    for_each(n, Places<T>{in, out, columns, stride, is_whole(in) && is_whole(out)});            \
  }                                                                                             \
  HONE_KERNEL(gather_rows_##bytes, const T* table, const int32_t* ids, T* out, int64_t n,       \
              int64_t columns) {                                                                \
    for_each(n, Gathers<T>{table, ids, out, columns, is_whole(table) && is_whole(out)});        \
  }                                                                                             \
  HONE_KERNEL(put_rows_##bytes, const T* in, const int32_t* ids, T* table, int64_t n,           \
              int64_t columns) {                                                                \
    for_each(n, Puts<T>{in, ids, table, columns, is_whole(in) && is_whole(table)});             \
  }
HONE_MOVES(1, uint8_t)
HONE_MOVES(2, uint16_t)
HONE_MOVES(4, uint32_t)
HONE_MOVES(8, uint64_t)
HONE_MOVES(16, Sixteen)

// The index along a dimension.
#define HONE_IOTA(name, T)                                                     \
  HONE_KERNEL(iota_##name, T* out, int64_t n, int64_t stride, int64_t size) {  \
    for (int64_t i = first_of_all(); i < n; i += all_threads())                \
      out[i] = Narrow<T>::of(i / stride % size);                               \
  }
HONE_IOTA(f64, double)
HONE_IOTA(f32, float)
HONE_IOTA(bf16, bf16)
HONE_IOTA(f16, f16)
HONE_IOTA(i64, int64_t)
HONE_IOTA(i32, int32_t)

}  // namespace hone::cuda
