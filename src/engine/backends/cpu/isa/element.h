// The formats in which a kernel's operand keeps its numbers.
#pragma once

#include <cstdint>

namespace hone::cpu {

enum class Element : int {
  f32,
  bf16,
  f16,
  i8,
  blocks  // of few bits, with scales: Blocks (gemm/gemm.h)
};

constexpr int64_t element_bytes(Element e) {
  return e == Element::f32 ? 4 : e == Element::i8 ? 1 : 2;
}

// An f16, as a type of its own beside the bits of a bf16.
struct Float16 {
  uint16_t bits;
};

}  // namespace hone::cpu
