// Shared parts of causal_conv1d and its gradient.
#pragma once

#include "engine/ops/support.h"

namespace hone {

struct CausalConvDims {
  int64_t tokens = 0, channels = 0, taps = 0, segments = 0;
};

// Checks the operands that both have: x, w, cu.
Result<CausalConvDims> causal_conv_dims(const NodeView& n);

// Each of `count` packed tokens, i32[T]: its segment (segments: none), where the segment begins and
// ends. Past the last segment both are the end of it.
struct TokenSegments {
  ValueId id, begin, end;
  ValueId inside;  // bool[T]: the token is in a segment
};
TokenSegments token_segments(Builder& b, ValueId cu, int64_t count, int64_t segments);

// x[t - lag] for each token t (t + lag if `ahead`), [T,C] in the wide type; zeros if that is not a
// token of its segment.
ValueId rows_apart(Builder& b, const TokenSegments& s, ValueId x, int64_t lag, bool ahead);
// Column `tap` of w [C,K] for each of the rows of a value of type `like` [T,C].
ValueId tap_of(Builder& b, ValueId w, int64_t tap, const Type& like);

}  // namespace hone
