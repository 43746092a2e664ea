#include "engine/graph/type.h"

#include <array>
#include <bit>

#include "engine/graph/errors.h"

namespace hone {
namespace {
struct Info { std::string_view name; int64_t bytes; };
constexpr std::array<Info, 9> kInfo{{{"f64", 8}, {"f32", 4}, {"bf16", 2}, {"f16", 2}, {"i64", 8},
                                     {"i32", 4}, {"i8", 1}, {"u8", 1}, {"bool", 1}}};
}  // namespace

int64_t size_of(DType t) { return kInfo[static_cast<size_t>(t)].bytes; }
std::string_view name_of(DType t) { return kInfo[static_cast<size_t>(t)].name; }
bool is_float(DType t) { return t <= DType::f16; }

Result<DType> dtype_named(std::string_view name) {
  for (size_t i = 0; i < kInfo.size(); ++i)
    if (kInfo[i].name == name) return static_cast<DType>(i);
  return Error(err::kUnknownDType, fmt::format("'{}' is no element type", name))
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

float f16_to_f32(uint16_t bits) {
  _Float16 h;
  static_assert(sizeof h == sizeof bits);
  __builtin_memcpy(&h, &bits, sizeof h);
  return static_cast<float>(h);
}

uint16_t f32_to_f16(float x) {
  _Float16 h = static_cast<_Float16>(x);
  uint16_t bits;
  __builtin_memcpy(&bits, &h, sizeof bits);
  return bits;
}

}  // namespace hone
