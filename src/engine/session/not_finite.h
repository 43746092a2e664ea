// Finds values that are NaN or infinite, after a step that failed.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace hone {

struct NotFinite {
  std::string op, scope;  // of the node with this result; empty for a state
  Phase phase = Phase::forward;
  int64_t count = 0, elements = 0, first = 0;  // first: flat index
  Shape shape = {};
  std::vector<int64_t> slices = {};  // indices of its first axis with such values, ascending
  std::string text() const;          // "block 3, attn: attention: 12 of 393216 values"
};

// For a tensor of a floating-point type; others have no such values.
NotFinite count_not_finite(const Type& type, const void* data);

}  // namespace hone
