#include "learn/checkpoint/safetensors/convert.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <type_traits>
#include <utility>

#include "learn/checkpoint/safetensors/errors.h"

namespace hone {
namespace {

constexpr int64_t kConvertChunk = int64_t{4} << 20;

struct Bf16 {
  uint16_t bits;
};
struct Half {
  uint16_t bits;
};
struct Bool {
  uint8_t bits;
};

// As engine/graph's functions, but visible to the vectoriser; subnormals do not depend on the
// processor's denormal mode.
inline float widen(Bf16 x) { return std::bit_cast<float>(uint32_t{x.bits} << 16); }
inline float widen(Half x) {
  const uint32_t sign = uint32_t{x.bits & 0x8000u} << 16;
  const uint32_t rest = x.bits & 0x7fffu;
  const uint32_t normal = (rest << 13) + ((rest >= 0x7c00u ? 255u - 31u : 127u - 15u) << 23);
  const uint32_t tiny =
      std::bit_cast<uint32_t>(static_cast<float>(static_cast<int32_t>(rest)) * 0x1p-24f);
  return std::bit_cast<float>(sign | (rest < 0x400u ? tiny : normal));
}

template <class T>
constexpr bool kFloat = std::is_same_v<T, double> || std::is_same_v<T, float> ||
                        std::is_same_v<T, Bf16> || std::is_same_v<T, Half>;

template <class From>
float as_f32(From x) {
  if constexpr (std::is_same_v<From, Bf16> || std::is_same_v<From, Half>)
    return widen(x);
  else if constexpr (std::is_same_v<From, Bool>)
    return x.bits != 0 ? 1.0f : 0.0f;
  else
    return static_cast<float>(x);
}

template <class To, class From>
bool element(From x, To& y) {  // false: the value does not fit
  if constexpr (kFloat<To>) {
    if constexpr (std::is_same_v<To, double>) {
      if constexpr (std::is_arithmetic_v<From>)
        y = static_cast<double>(x);
      else
        y = as_f32(x);
    } else if constexpr (std::is_same_v<To, float>)
      y = as_f32(x);
    else if constexpr (std::is_same_v<To, Bf16>)
      y.bits = f32_to_bf16(as_f32(x));
    else
      y.bits = f32_to_f16(as_f32(x));
    return true;
  } else if constexpr (std::is_same_v<From, Bool>) {
    return element<To, uint8_t>(x.bits != 0, y);
  } else if constexpr (std::is_same_v<To, Bool>) {
    y.bits = x != 0;
    return x == 0 || x == 1;
  } else {
    y = static_cast<To>(x);
    return std::in_range<To>(x);
  }
}

template <class To, class From>
std::string_view run(const std::byte* in, std::byte* out, int64_t n) {
  if constexpr (kFloat<From> && !kFloat<To>) {
    return "hone does not round weights to integers";
  } else {
    bool fits = true;
    for (int64_t i = 0; i < n; ++i) {
      From x;
      To y;
      std::memcpy(&x, in + i * static_cast<int64_t>(sizeof x), sizeof x);
      fits &= element<To, From>(x, y);
      std::memcpy(out + i * static_cast<int64_t>(sizeof y), &y, sizeof y);
    }
    return fits ? std::string_view{} : "a value is too large for that type";
  }
}

template <class From>
std::string_view to_dtype(const std::byte* in, DType to, std::byte* out, int64_t n) {
  switch (to) {
    case DType::f64:
      return run<double, From>(in, out, n);
    case DType::f32:
      return run<float, From>(in, out, n);
    case DType::bf16:
      return run<Bf16, From>(in, out, n);
    case DType::f16:
      return run<Half, From>(in, out, n);
    case DType::i64:
      return run<int64_t, From>(in, out, n);
    case DType::i32:
      return run<int32_t, From>(in, out, n);
    case DType::i8:
      return run<int8_t, From>(in, out, n);
    case DType::u8:
      return run<uint8_t, From>(in, out, n);
    case DType::boolean:
      return run<Bool, From>(in, out, n);
  }
  throw_bug(__FILE__, __LINE__, "convert: no such DType");
}

struct Info {
  int64_t bytes;
  DType dtype;
};
constexpr Info kInfo[] = {{8, DType::f64},     {4, DType::f32}, {2, DType::bf16}, {2, DType::f16},
                          {8, DType::i64},     {4, DType::i32}, {1, DType::i8},   {1, DType::u8},
                          {1, DType::boolean}, {2, DType::i32}, {2, DType::i32},  {4, DType::i64},
                          {8, DType::i64},     {0, DType::u8}};

}  // namespace

int64_t size_of(Stored s) { return kInfo[static_cast<size_t>(s)].bytes; }
DType dtype_of(Stored s) { return kInfo[static_cast<size_t>(s)].dtype; }
bool is_dtype(Stored s) { return s <= Stored::boolean; }
Stored stored_of(DType t) { return static_cast<Stored>(t); }  // the first nine agree by value

std::string_view convert(Stored from, const std::byte* in, DType to, std::byte* out, int64_t n) {
  if (is_dtype(from) && dtype_of(from) == to) {
    if (n > 0) std::memcpy(out, in, static_cast<size_t>(n * size_of(from)));
    return {};
  }
  switch (from) {
    case Stored::f64:
      return to_dtype<double>(in, to, out, n);
    case Stored::f32:
      return to_dtype<float>(in, to, out, n);
    case Stored::bf16:
      return to_dtype<Bf16>(in, to, out, n);
    case Stored::f16:
      return to_dtype<Half>(in, to, out, n);
    case Stored::i64:
      return to_dtype<int64_t>(in, to, out, n);
    case Stored::i32:
      return to_dtype<int32_t>(in, to, out, n);
    case Stored::i8:
      return to_dtype<int8_t>(in, to, out, n);
    case Stored::u8:
      return to_dtype<uint8_t>(in, to, out, n);
    case Stored::boolean:
      return to_dtype<Bool>(in, to, out, n);
    case Stored::i16:
      return to_dtype<int16_t>(in, to, out, n);
    case Stored::u16:
      return to_dtype<uint16_t>(in, to, out, n);
    case Stored::u32:
      return to_dtype<uint32_t>(in, to, out, n);
    case Stored::u64:
      return to_dtype<uint64_t>(in, to, out, n);
    case Stored::opaque:
      return "hone cannot decode this element format";
  }
  throw_bug(__FILE__, __LINE__, "convert: no such element format");
}

Error not_convertible(const TensorInfo& t, DType to, std::string_view why) {
  return Error(err::kTensorConversion,
               fmt::format("tensor '{}' of '{}' is {}{} and cannot become {}: {}", t.name, t.file,
                           t.scheme.empty() ? std::string(name_of(t.type.dtype)) : t.scheme,
                           text_of(t.type.shape), name_of(to), why))
      .todo("use a checkpoint whose weights are f32, bf16 or f16");
}

Status read_elements(const ByteFile& file, const TensorInfo& t, Stored from, DType to,
                     std::span<std::byte> out) {
  if (is_dtype(from) && dtype_of(from) == to) return file.read_at(t.offset, out);
  const int64_t width = std::max<int64_t>(1, size_of(from)), count = t.type.count();
  std::vector<std::byte> chunk(static_cast<size_t>(std::min(kConvertChunk, t.bytes)));
  const int64_t step = std::max<int64_t>(1, static_cast<int64_t>(chunk.size()) / width);
  for (int64_t i = 0; i < count; i += step) {
    const int64_t n = std::min(step, count - i);
    if (from != Stored::opaque)
      HONE_TRY(file.read_at(t.offset + i * width,
                            std::span(chunk).first(static_cast<size_t>(n * width))));
    const std::string_view why = convert(from, chunk.data(), to, out.data() + i * size_of(to), n);
    if (!why.empty()) return not_convertible(t, to, why);
  }
  return Ok{};
}

}  // namespace hone
