// The size of the batches in which the readers of rows tokenize text.
#pragma once

#include <cstddef>

namespace hone {

// A batch is full when it has kBatchRows rows, or kBatchBytes bytes of text if that is earlier.
inline constexpr size_t kBatchRows = 1000, kBatchBytes = 8 << 20;

}  // namespace hone
