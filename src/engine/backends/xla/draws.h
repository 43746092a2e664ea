// Writes the random numbers of dropout (base/core/philox.h) as StableHLO, for several kinds of ops.
#pragma once

#include "engine/backends/xla/writer.h"

namespace hone::xla {

struct RandomKey {
  Ref low, high;  // ui32[]
};
// The key of a dropout at this step. rng: i64[2] = {seed, step}. place: the dropout's name, one of
// Writer::dropouts.places (else a Bug). The first call computes the keys of all places together, because a TPU runs
// each operation on a single number as a program of its own.
RandomKey dropout_key_of(Writer& w, const Ref& rng, const std::string& place);

// i32[count]: the number of the segment of each packed token. cu: the first tokens of the segments and the end of the
// last one, i32[segments + 1].
Ref segments_of(Writer& w, const Ref& cu, int64_t count);

// The dropout of attention probabilities, for Q queries.
struct AttentionDraws {
  RandomKey key;
  double p = 0;            // probability of a drop
  int64_t first_head = 0;  // number of head 0 in the masks
  Ref samples;             // i64[Q]: the number of each query's sample
  Ref rows;                // i32[Q]: each query's position in its segment
};
// i1[H,Q,K]: whether the pair of a query and a key is kept. columns: i32[H,Q,K], the key's position in the segment. If
// query and key are in different segments, it may be any number.
Ref kept_pairs(Writer& w, const AttentionDraws& draws, const Ref& columns);

}  // namespace hone::xla
