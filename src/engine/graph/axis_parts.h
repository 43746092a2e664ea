// The parts of one axis of a weight that a rank holds if several ranks divide a matrix product (tensor parallelism).
#pragma once

#include <vector>

#include "engine/graph/shard.h"
#include "engine/graph/type.h"

namespace hone {

// Ranges of indices of one axis, in rising order. This rank's tensor has only these indices, one range after another.
// A fused projection of queries, keys and values has three ranges: this rank's heads of each of them.
struct AxisParts {
  int64_t axis = 0;
  int64_t size = 0;  // length of the axis in the whole tensor
  std::vector<RowRange> ranges = {};
  // The length of the axis in this rank's tensor.
  int64_t count() const {
    int64_t n = 0;
    for (const RowRange& r : ranges) n += r.count();
    return n;
  }
  // The type of the whole tensor, from the type of this rank's part.
  Type whole(Type part) const {
    part.shape[static_cast<size_t>(axis)] = size;
    return part;
  }
  // The type of this rank's part, from the type of the whole tensor.
  Type part(Type whole) const {
    whole.shape[static_cast<size_t>(axis)] = count();
    return whole;
  }
  bool operator==(const AxisParts&) const = default;
};

}  // namespace hone
