// Element types, shapes and tensor types of the IR. Tensors are dense and row-major; shapes are known before a run.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/core/error.h"

namespace hone {

// The numbers are stored in prepared data files and training checkpoints, so they never change.
enum class DType : uint8_t {
  f64 = 0,
  f32 = 1,
  bf16 = 2,
  f16 = 3,
  i64 = 4,
  i32 = 5,
  i8 = 6,
  u8 = 7,
  boolean = 8
};

int64_t size_of(DType t);                          // bytes of one element
std::string_view name_of(DType t);                 // "f32"; DType::boolean is "bool"
Result<DType> dtype_named(std::string_view name);  // the type of such a name; H1001: unknown name
bool is_float(DType t);                            // f64, f32, bf16 or f16

using Shape = std::vector<int64_t>;  // empty: a scalar

struct Type {
  DType dtype = DType::f32;
  Shape shape;

  int64_t count() const;  // number of elements; 1 for a scalar
  int64_t bytes() const { return count() * size_of(dtype); }
  int rank() const { return static_cast<int>(shape.size()); }
  std::string text() const;  // "f32[8,512,768]"
  bool operator==(const Type&) const = default;
};

std::string text_of(const Shape& s);  // "[8,512,768]"

// Conversions of bf16 and f16, which are uint16_t bits in memory; arithmetic is done in f32. Conversions to 16 bits
// round to nearest, ties to even; NaN stays NaN, values that are too large become infinite.
float bf16_to_f32(uint16_t bits);
uint16_t f32_to_bf16(float x);
float f16_to_f32(uint16_t bits);
uint16_t f32_to_f16(float x);  // small values become f16 subnormals

}  // namespace hone
