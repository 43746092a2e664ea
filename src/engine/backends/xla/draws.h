// Random numbers in the text that several kinds of ops draw.
#pragma once

#include "engine/backends/xla/writer.h"

namespace hone::xla {

struct RandomKey {
  Ref low, high;  // ui32[]
};
// The key of a dropout at this step: rng i64[2] = {seed, step}. The keys of all places that the writer
// knows are computed together: the compiler of TPUs runs each operation on a single number as a program
// of its own.
RandomKey dropout_key_of(Writer& w, const Ref& rng, const std::string& place);

// i32[count]: for each packed token the number of segments that end at or before it.
Ref segments_of(Writer& w, const Ref& cu, int64_t count);

// Dropout of attention (base/core/philox.h), of Q queries.
struct AttentionDraws {
  RandomKey key;
  double p = 0;
  int64_t first_head = 0;
  Ref samples;  // i64[Q]
  Ref rows;     // i32[Q]: the query's place in its segment
};
// i1[H,Q,K]: whether the pair is kept; `columns` i32[H,Q,K] is the key's place in the segment. Pairs
// of two segments may have any number.
Ref kept_pairs(Writer& w, const AttentionDraws& draws, const Ref& columns);

}  // namespace hone::xla
