// The parts of one axis of a tensor that a rank holds, where several ranks divide a product.
#pragma once

#include <vector>

#include "engine/graph/shard.h"
#include "engine/graph/type.h"

namespace hone {

// Ranges of an axis in their order, one after another in the tensor of this rank: heads of queries, keys and
// values of one projection are three.
struct AxisParts {
  int64_t axis = 0;
  int64_t size = 0;  // of the whole axis
  std::vector<RowRange> ranges = {};
  int64_t count() const {
    int64_t n = 0;
    for (const RowRange& r : ranges) n += r.count();
    return n;
  }
  // The type of the whole tensor, and of the part.
  Type whole(Type part) const {
    part.shape[static_cast<size_t>(axis)] = size;
    return part;
  }
  Type part(Type whole) const {
    whole.shape[static_cast<size_t>(axis)] = count();
    return whole;
  }
  bool operator==(const AxisParts&) const = default;
};

}  // namespace hone
