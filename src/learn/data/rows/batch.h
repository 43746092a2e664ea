// The amount of text that the readers of rows tokenize at a time.
#pragma once

#include <cstddef>

namespace hone {

inline constexpr size_t kBatchRows = 1000, kBatchBytes = 8 << 20;  // whichever is reached first

}  // namespace hone
