// The split of an optimizer step's rows into micro-batches, which decides how sums are rounded.
#pragma once

#include <cstdint>

namespace hone {

struct Split {
  int64_t rows = 0;    // of a micro-batch; for different lengths: of an average one
  bool whole = false;  // a step is one micro-batch and one program
  bool operator==(const Split&) const = default;
};

}  // namespace hone
