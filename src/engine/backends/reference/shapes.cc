// Primitives that only move elements, or their bits: they copy bytes, whatever the element type.
#include <bit>

#include "engine/backends/reference/numbers.h"

namespace hone::reference {
namespace {

const char* bytes_of(const void* p) { return static_cast<const char*>(p); }

// out[index] = in[sum over dimensions of index_d * step_d + offset] for every index of `shape`.
void move(const Shape& shape, const std::vector<int64_t>& step, int64_t offset, int64_t element,
          const void* in, void* out) {
  std::vector<int64_t> index(shape.size(), 0);
  int64_t count = 1;
  for (int64_t d : shape) count *= d;
  char* to = static_cast<char*>(out);
  for (int64_t i = 0; i < count; ++i, to += element) {
    int64_t from = offset;
    for (size_t d = 0; d < shape.size(); ++d) from += index[d] * step[d];
    std::memcpy(to, bytes_of(in) + from * element, static_cast<size_t>(element));
    for (size_t d = shape.size(); d-- > 0;) {
      if (++index[d] < shape[d]) break;
      index[d] = 0;
    }
  }
}

void reshape(const Call& c, const KernelArgs& a) {
  if (a.in[0] != a.out[0] && c.out[0].bytes() > 0)
    std::memcpy(a.out[0], a.in[0], static_cast<size_t>(c.out[0].bytes()));
}

void broadcast(const Call& c, const KernelArgs& a) {
  std::vector<int64_t> step(c.out[0].shape.size(), 0), strides = strides_of(c.in[0].shape),
                                                       axes = c.attrs.integers("axes");
  for (size_t i = 0; i < axes.size(); ++i) step[static_cast<size_t>(axes[i])] = strides[i];
  move(c.out[0].shape, step, 0, size_of(c.out[0].dtype), a.in[0], a.out[0]);
}

void slice(const Call& c, const KernelArgs& a) {
  std::vector<int64_t> strides = strides_of(c.in[0].shape);
  int64_t offset = c.attrs.integer("begin") * strides[static_cast<size_t>(c.attrs.integer("axis"))];
  if (a.in[0] == a.out[0]) return;  // a view at offset 0
  move(c.out[0].shape, strides, offset, size_of(c.out[0].dtype), a.in[0], a.out[0]);
}

void transpose(const Call& c, const KernelArgs& a) {
  std::vector<int64_t> strides = strides_of(c.in[0].shape), step;
  for (int64_t d : c.attrs.integers("permutation")) step.push_back(strides[static_cast<size_t>(d)]);
  move(c.out[0].shape, step, 0, size_of(c.out[0].dtype), a.in[0], a.out[0]);
}

// Numbers in f32, of which `x` has the bits, and back.
std::vector<uint32_t> bits_of(const void* x, const Type& type) {
  std::vector<uint32_t> bits;
  for (const double one : load(x, type))
    bits.push_back(std::bit_cast<uint32_t>(static_cast<float>(one)));
  return bits;
}
void store_bits(const std::vector<uint32_t>& bits, void* out, const Type& type) {
  if (type.dtype == DType::f32) {  // a NaN keeps its payload
    if (!bits.empty()) std::memcpy(out, bits.data(), 4 * bits.size());
    return;
  }
  Numbers numbers;
  for (const uint32_t one : bits) numbers.push_back(std::bit_cast<float>(one));
  store(numbers, out, type);
}
std::vector<uint16_t> halves_in(const void* x, const Type& type) {
  std::vector<uint32_t> bits;
  if (type.dtype == DType::f32) {
    bits.resize(static_cast<size_t>(type.count()));
    if (!bits.empty()) std::memcpy(bits.data(), x, 4 * bits.size());
  } else {
    bits = bits_of(x, type);
  }
  std::vector<uint16_t> halves;
  for (const uint32_t one : bits) {
    halves.push_back(static_cast<uint16_t>(one % 0x10000));
    halves.push_back(static_cast<uint16_t>(one / 0x10000));
  }
  return halves;
}

// By arithmetic over bits, without the code that other backends use.
void halves(const Call& c, const KernelArgs& a) {
  const auto count = static_cast<size_t>(c.in[0].count());
  std::vector<uint32_t> whole(count);
  if (c.attrs.flag("joined")) {
    const std::vector<uint16_t> half = halves_in(a.in[0], c.in[0]);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t lower = half[count + i], carried = lower >= 0x8000 ? 0x10000 : 0;
      whole[i] = half[i] * 0x10000u + lower - carried;
    }
    return store_bits(whole, a.out[0], c.out[0]);
  }
  const std::vector<uint32_t> x = bits_of(a.in[0], c.in[0]);
  std::vector<uint32_t> half;
  for (const uint32_t one : x) {
    const bool is_nan = (one & 0x7fffffff) > 0x7f800000;
    const uint32_t up = one % 0x10000 >= 0x8000 ? 1 : 0;
    half.push_back(is_nan ? one / 0x10000 | 0x40 : one / 0x10000 + up);
  }
  for (const uint32_t one : x) half.push_back(one % 0x10000);
  for (size_t i = 0; i < count; ++i) whole[i] = half[2 * i] + half[2 * i + 1] * 0x10000;
  store_bits(whole, a.out[0], c.out[0]);
}

void upper_half(const Call& c, const KernelArgs& a) {
  if (a.in[0] == a.out[0]) return;
  const std::vector<uint16_t> half = halves_in(a.in[0], c.in[0]);
  const size_t count = half.size() / 2;
  if (count > 0) std::memcpy(a.out[0], half.data(), 2 * count);
}

void concat(const Call& c, const KernelArgs& a) {
  auto axis = static_cast<size_t>(c.attrs.integer("axis"));
  int64_t outer = 1, inner = size_of(c.out[0].dtype);
  for (size_t d = 0; d < c.out[0].shape.size(); ++d)
    (d < axis ? outer : d > axis ? inner : outer) *= d == axis ? 1 : c.out[0].shape[d];
  char* to = static_cast<char*>(a.out[0]);
  for (int64_t o = 0; o < outer; ++o)
    for (size_t i = 0; i < c.in.size(); ++i) {
      int64_t size = c.in[i].shape[axis] * inner;
      if (size > 0) std::memcpy(to, bytes_of(a.in[i]) + o * size, static_cast<size_t>(size));
      to += size;
    }
}

void gather_rows(const Call& c, const KernelArgs& a) {
  int64_t rows = c.in[0].shape[0], size = rows == 0 ? 0 : c.in[0].bytes() / rows;
  const auto* ids = static_cast<const int32_t*>(a.in[1]);
  char* to = static_cast<char*>(a.out[0]);
  for (int64_t i = 0; i < c.in[1].count(); ++i, to += size) {
    HONE_BUG_IF(ids[i] >= rows, "gather_rows: id {} at {} is not below {}", ids[i], i, rows);
    if (ids[i] < 0)
      std::memset(to, 0, static_cast<size_t>(size));
    else
      std::memcpy(to, bytes_of(a.in[0]) + ids[i] * size, static_cast<size_t>(size));
  }
}

}  // namespace

void add_shapes(Table& t) {
  t["reshape"] = reshape;
  t["broadcast"] = broadcast;
  t["slice"] = slice;
  t["transpose"] = transpose;
  t["concat"] = concat;
  t["gather_rows"] = gather_rows;
  t["halves"] = halves;
  t["upper_half"] = upper_half;
}

}  // namespace hone::reference
