// Converts elements from the type in a file to the type that the caller wants.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "learn/checkpoint/safetensors/byte_file.h"
#include "learn/checkpoint/safetensors/weight_source.h"

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

// Reads `t`, whose elements are contiguous in `file` as `from`, as elements of `to`; no copy when
// they are the same. `out` has the size. H2206, and the file's errors.
Status read_elements(const ByteFile& file, const TensorInfo& t, Stored from, DType to,
                     std::span<std::byte> out);
Error not_convertible(const TensorInfo& t, DType to, std::string_view why);  // H2206

}  // namespace hone
