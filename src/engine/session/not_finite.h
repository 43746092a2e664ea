// Values that are NaN or infinite: what a step that failed is asked for.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace hone {

struct NotFinite {
  std::string op, scope;  // of the node whose result it is; empty for a state
  Phase phase = Phase::forward;
  int64_t count = 0, elements = 0, first = 0;  // first: flat index
  Shape shape = {};
  std::vector<int64_t> slices = {};  // of its first axis: those that hold some, ascending
  std::string text() const;          // "block 3, attn: attention: 12 of 393216 values"
};

// For a tensor of a floating-point type; other types have none.
NotFinite count_not_finite(const Type& type, const void* data);

}  // namespace hone
