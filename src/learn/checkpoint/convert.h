// Elements as files store them, turned into the elements that a caller wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "engine/graph/type.h"

namespace hone {

// Element formats of files. The last five have no DType of their own: a reader reports the DType
// that holds every value (i32 for i16 and u16, i64 for u32 and u64) and can only convert.
enum class Stored : uint8_t {
  f64,
  f32,
  bf16,
  f16,
  i64,
  i32,
  i8,
  u8,
  boolean,
  i16,
  u16,
  u32,
  u64,
  opaque
};

int64_t size_of(Stored s);  // bytes of one element; 0 for opaque
DType dtype_of(Stored s);   // the DType itself, or the one that holds every value
bool is_dtype(Stored s);    // the bytes are those of dtype_of(s)
Stored stored_of(DType t);

// Converts `n` elements; neither pointer needs alignment. Rules, as PyTorch's `to`:
// float -> float through f32 unless both ends are f64, round to nearest even; integer -> float;
// integer -> integer when every value fits; float -> integer never.
// Returns an empty view, or why it cannot be done.
std::string_view convert(Stored from, const std::byte* in, DType to, std::byte* out, int64_t n);

}  // namespace hone
