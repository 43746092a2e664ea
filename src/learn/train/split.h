// The split of an optimizer step's rows into micro-batches. It decides the order of sums, and so how they are rounded.
#pragma once

#include <cstdint>

namespace hone {

struct Split {
  int64_t rows = 0;    // rows of a micro-batch; if rows differ in length, of an average micro-batch
  bool whole = false;  // true: a step is one micro-batch and one program
  bool operator==(const Split&) const = default;
};

}  // namespace hone
