// T5's biases of attention scores by relative position (arXiv 1910.10683, section 2.1). Distances are grouped into
// buckets, which grow with the distance; each bucket has a trained bias for each head.
#pragma once

#include "learn/models/graph.h"

namespace hone {

struct Buckets {
  int64_t count = 32, max_distance = 128;  // all distances from max_distance on share a bucket
  bool both_ways = true;  // half of the buckets are for keys after the query; false: none are
};

// The bias [H, 2*longest()-1] for ModelGraph::self_attention. `rows` declares the trained table [buckets,H] and
// returns it. While the graph only lists its weights (ModelGraph::declaring), `rows` is not called and kNoValue is
// returned; the family then declares the table itself, at its place in the checkpoints. `name`: the prefix of the
// constant table's name.
ValueId bucket_bias(ModelGraph& g, const std::string& name, const Buckets& buckets,
                    const std::function<ValueId()>& rows);

}  // namespace hone
