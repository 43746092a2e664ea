// Shared parts of causal_conv1d and causal_conv1d_grad: a filter over the T packed tokens of segments (sequences).
#pragma once

#include "engine/ops/support.h"

namespace hone {

struct CausalConvDims {
  int64_t tokens = 0, channels = 0, taps = 0, segments = 0;  // taps: the filter's length
};

// Checks the operands that both ops have: x, w, cu. H1203: they do not fit.
Result<CausalConvDims> causal_conv_dims(const NodeView& n);

// The segment of each of `count` packed tokens, as values i32[count]. id: index of the segment. [begin, end): the
// tokens of the segment. A token past the last segment has id = segments; begin and end are the last segment's end.
struct TokenSegments {
  ValueId id, begin, end;
  ValueId inside;  // bool[count]: the token is in a segment
};
TokenSegments token_segments(Builder& b, ValueId cu, int64_t count, int64_t segments);

// Shifts rows: row t of the result is x[t - lag], or x[t + lag] if `ahead`; a row of zeros if that row is not in t's
// segment, or t is in none. [T,C] in f32 (f64 if x is).
ValueId rows_apart(Builder& b, const TokenSegments& s, ValueId x, int64_t lag, bool ahead);
// Broadcasts column `tap` of w [C,K] over the rows of the shape of `like`, [T,C]; in f32 (f64 if w is).
ValueId tap_of(Builder& b, ValueId w, int64_t tap, const Type& like);

}  // namespace hone
