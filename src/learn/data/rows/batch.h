// The size of the batches in which the readers of rows tokenize text.
#pragma once

#include <cstddef>

namespace hone {

// A batch is full at this number of rows, or at this number of bytes of text if it is reached earlier.
inline constexpr size_t kBatchRows = 1000, kBatchBytes = 8 << 20;

}  // namespace hone
