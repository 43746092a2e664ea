// Ranges of code points with the general categories L* and N*: data of unicode.cc.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

struct CodeRange {
  uint32_t first, last;  // both inside
};
std::span<const CodeRange> letter_ranges();
std::span<const CodeRange> number_ranges();

}  // namespace hone
