// How the rows of an optimizer step are cut, which decides how sums are rounded.
#pragma once

#include <cstdint>

namespace hone {

struct Split {
  int64_t rows = 0;    // of a micro-batch; of different lengths: of an average one
  bool whole = false;  // a step is one micro-batch and one program
  bool operator==(const Split&) const = default;
};

}  // namespace hone
