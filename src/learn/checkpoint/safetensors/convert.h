// Converts elements of a tensor from the type in a file to the type that the caller requests.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/weight_source.h"

namespace hone {

// The element types of files. i16, u16, u32 and u64 have no DType of their own. A reader reports i16 and u16 as i32,
// u32 and u64 as i64, and must convert their elements; a u64 above the largest i64 cannot be converted. opaque: an
// element type that hone cannot read, which a reader reports as u8.
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
DType dtype_of(Stored s);   // the same type as a DType, or the DType as which a reader reports it
bool is_dtype(Stored s);    // whether elements have the same bytes as those of dtype_of(s)
Stored stored_of(DType t);

// Converts `n` elements by the rules of PyTorch's Tensor.to:
//   float to float      rounds to nearest even; goes through f32 unless both types are f64 or f32
//   integer to float    rounds to nearest even
//   integer to integer  fails if a value does not fit
//   float to integer    fails
// The pointers need no alignment. Returns "", or the reason for which the conversion failed.
std::string_view convert(Stored from, const std::byte* in, DType to, std::byte* out, int64_t n);

// Reads the tensor `t`, whose elements are contiguous in `file` from byte t.offset on with the type `from`, as
// elements of `to`. If the types are the same, the bytes are read directly into `out`. `out` must have t.type.count()
// elements of `to`. H2206: the conversion fails. Errors of the file.
Status read_elements(const ByteFile& file, const TensorInfo& t, Stored from, DType to,
                     std::span<std::byte> out);
// The error H2206: `t` cannot be converted to `to`, because of `why`.
Error not_convertible(const TensorInfo& t, DType to, std::string_view why);

}  // namespace hone
