// The types of metadata values in a GGUF file. The numbers are part of the format.
#pragma once

#include <cstdint>

namespace hone {

enum GgufType : uint32_t {
  kU8,
  kI8,
  kU16,
  kI16,
  kU32,
  kI32,
  kF32,
  kBool,
  kString,
  kArray,
  kU64,
  kI64,
  kF64,
  kTypes  // the number of types
};

}  // namespace hone
