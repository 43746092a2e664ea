// The element types of the operands of CPU kernels.
#pragma once

#include <cstdint>

namespace hone::cpu {

enum class Element : int {
  f32,
  bf16,
  f16,
  i8,
  blocks  // quantized in blocks: struct Blocks (gemm/gemm.h)
};

// Bytes of an element; not for `blocks`.
constexpr int64_t element_bytes(Element e) {
  return e == Element::f32 ? 4 : e == Element::i8 ? 1 : 2;
}

// The bits of an f16. It is a type of its own, because a plain uint16_t holds the bits of a bf16.
struct Float16 {
  uint16_t bits;
};

}  // namespace hone::cpu
