#include "engine/graph/type.h"

#include <array>
#include <bit>

#include "engine/graph/errors.h"

namespace hone {
namespace {
struct Info {
  std::string_view name;
  int64_t bytes;
};
constexpr std::array<Info, 9> kInfo{{{"f64", 8},
                                     {"f32", 4},
                                     {"bf16", 2},
                                     {"f16", 2},
                                     {"i64", 8},
                                     {"i32", 4},
                                     {"i8", 1},
                                     {"u8", 1},
                                     {"bool", 1}}};
}  // namespace

int64_t size_of(DType t) { return kInfo[static_cast<size_t>(t)].bytes; }
std::string_view name_of(DType t) { return kInfo[static_cast<size_t>(t)].name; }
bool is_float(DType t) { return t <= DType::f16; }

Result<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == name) return static_cast<DType>(i);
  return Error(err::kUnknownDType, fmt::format("'{}' is not an element type", name))
      .todo("use one of f64 f32 bf16 f16 i64 i32 i8 u8 bool");
}

int64_t Type::count() const {
  int64_t n = 1;
  for (int64_t d : shape) n *= d;
  return n;
}

std::string text_of(const Shape& s) { return fmt::format("[{}]", fmt::join(s, ",")); }
std::string Type::text() const { return std::string(name_of(dtype)) + text_of(shape); }

float bf16_to_f32(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

uint16_t f32_to_bf16(float x) {
  uint32_t u = std::bit_cast<uint32_t>(x);
  if ((u & 0x7fffffffu) > 0x7f800000u) return static_cast<uint16_t>((u >> 16) | 0x40);
  return static_cast<uint16_t>((u + 0x7fffu + ((u >> 16) & 1)) >> 16);
}

// In integers, because not every compiler has a half type for this processor.
float f16_to_f32(uint16_t bits) {
  const uint32_t sign = uint32_t{bits & 0x8000u} << 16, magnitude = bits & 0x7fffu;
  if (magnitude >= 0x7c00u)
    return std::bit_cast<float>(sign | 0x7f800000u | (magnitude & 0x3ffu) << 13);
  if (magnitude < 0x400u) {  // zero or subnormal: a multiple of 2^-24
    const float x = static_cast<float>(magnitude) * 0x1p-24f;
    return sign ? -x : x;
  }
  return std::bit_cast<float>(sign | ((magnitude << 13) + ((127 - 15) << 23)));
}

uint16_t f32_to_f16(float x) {
  const uint32_t u = std::bit_cast<uint32_t>(x), magnitude = u & 0x7fffffffu;
  const auto sign = static_cast<uint16_t>(u >> 16 & 0x8000u);
  auto with_sign = [sign](uint32_t m) { return static_cast<uint16_t>(sign | m); };
  if (magnitude > 0x7f800000u) return with_sign(0x7e00u | (magnitude >> 13 & 0x3ffu));
  if (magnitude >= 0x477ff000u) return with_sign(0x7c00u);  // 65520 and more round to infinity
  if (magnitude <
      0x38800000u) {  // below 2^-14: adding 0.5 leaves multiples of 2^-24, rounded to even
    const float shifted = std::bit_cast<float>(magnitude) + 0.5f;
    return with_sign(std::bit_cast<uint32_t>(shifted) - 0x3f000000u);
  }
  const uint32_t even = magnitude >> 13 & 1;
  return with_sign((magnitude - ((127 - 15) << 23) + 0xfffu + even) >> 13);
}

}  // namespace hone
