// Finds values that are NaN or infinite, after a step that failed.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace hone {

struct NotFinite {
  std::string op, scope;         // the node that made the tensor; empty for a state
  Phase phase = Phase::forward;  // of that node
  // count: the number of values that are NaN or infinite. elements: the number of all values. first: the flat index of
  // the first value that is NaN or infinite.
  int64_t count = 0, elements = 0, first = 0;
  Shape shape = {};  // empty for a state
  // Indices along the first axis that have such values, in rising order.
  std::vector<int64_t> slices = {};
  std::string text() const;  // "block 3, attn: attention: 12 of 393216 values"
};

// Checks a tensor. `data` has type.bytes() bytes in this process's memory. Types other than floats have count 0.
NotFinite count_not_finite(const Type& type, const void* data);

}  // namespace hone
