// Elements that go to other places, and those that depend on their place only. Names have the size of
// an element in bytes.
#include "engine/backends/cuda/kernels/kernel.cuh"

namespace hone::cuda {

#define HONE_MOVES(bytes, T)                                                                  \
  HONE_KERNEL(fill_##bytes, T* out, int64_t n, T value) {                                     \
    for (int64_t i = first_of_all(); i < n; i += all_threads()) out[i] = value;               \
  }                                                                                           \
  HONE_KERNEL(move_##bytes, const T* in, T* out, int64_t n, Strided from) {                   \
    for (int64_t i = first_of_all(); i < n; i += all_threads()) out[i] = in[place_of(from, i)]; \
  }                                                                                           \
  HONE_KERNEL(place_##bytes, const T* in, T* out, int64_t n, int64_t columns, int64_t stride) { \
    for (int64_t i = first_of_all(); i < n; i += all_threads())                               \
      out[i / columns * stride + i % columns] = in[i];                                        \
  }                                                                                           \
  HONE_KERNEL(gather_rows_##bytes, const T* table, const int32_t* ids, T* out, int64_t n,     \
              int64_t columns) {                                                              \
    for (int64_t i = first_of_all(); i < n; i += all_threads()) {                             \
      const int64_t id = ids[i / columns];                                                    \
      out[i] = id < 0 ? T(0) : table[id * columns + i % columns];                             \
    }                                                                                         \
  }
HONE_MOVES(1, uint8_t)
HONE_MOVES(2, uint16_t)
HONE_MOVES(4, uint32_t)
HONE_MOVES(8, uint64_t)

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
