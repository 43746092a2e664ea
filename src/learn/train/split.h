// The split of an optimizer step's rows into micro-batches. It decides the order in which gradients are added, and so
// how sums are rounded.
#pragma once

#include <cstdint>

namespace hone {

struct Split {
  int64_t rows = 0;    // rows of a micro-batch; if rows differ in length, the mean number of rows
  bool whole = false;  // true: a step is one micro-batch and one program
  bool operator==(const Split&) const = default;
};

}  // namespace hone
