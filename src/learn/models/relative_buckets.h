// Biases of attention by relative position, in buckets that grow with the distance (T5, arXiv
// 1910.10683, section 2.1).
#pragma once

#include "learn/models/graph.h"

namespace hone {

struct Buckets {
  int64_t count = 32, max_distance = 128;
  bool both_ways = true;  // half of the buckets are for keys after the query
};

// [H, 2 longest - 1], what all layers add to their scores: ops::attention's bias. `rows` declares the
// table [buckets,H]; it is not called while weights are listed, so that a family can declare the
// table where its checkpoints have it. kNoValue then.
ValueId bucket_bias(ModelGraph& g, const std::string& name, const Buckets& buckets,
                    const std::function<ValueId()>& rows);

}  // namespace hone
