#include "engine/ops/causal_conv_parts.h"

namespace hone {
namespace {

ValueId whole_number(Builder& b, int64_t x) {
  return ops::constant(b, static_cast<double>(x), {DType::i32, {}});
}

}  // namespace

Result<CausalConvDims> causal_conv_dims(const NodeView& n) {
  CausalConvDims d;
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const Type &x = n.in("x"), &w = n.in("w"), &cu = n.in("cu");
  d.tokens = x.shape[0];
  d.channels = x.shape[1];
  if (w.rank() != 2 || w.shape[0] != d.channels || w.shape[1] < 1 ||
      (w.dtype != x.dtype && w.dtype != wide(x.dtype)))
    return bad_operands(n, fmt::format("w must be {}[{},K]", name_of(wide(x.dtype)), d.channels));
  d.taps = w.shape[1];
  if (cu.rank() != 1 || cu.dtype != DType::i32 || cu.shape[0] < 2)
    return bad_operands(n, "cu must be i32[S+1]");
  d.segments = cu.shape[0] - 1;
  return d;
}

TokenSegments token_segments(Builder& b, ValueId cu, int64_t count, int64_t segments) {
  const Type grid{DType::i32, {count, segments}};
  const ValueId ends = ops::broadcast(b, ops::slice(b, cu, 0, 1, segments + 1), grid.shape, {1});
  const ValueId passed = ops::compare(b, ops::iota(b, grid, 0), ends, "ge");
  TokenSegments s;
  s.id = ops::reduce_sum(b, ops::cast(b, passed, DType::i32), {1});
  s.begin = ops::gather_rows(b, cu, s.id);
  const ValueId next = ops::add(b, s.id, whole_number(b, 1));
  s.end = ops::gather_rows(b, cu, ops::minimum(b, next, whole_number(b, segments)));
  s.inside = ops::compare(b, s.id, whole_number(b, segments), "lt");
  return s;
}

ValueId rows_apart(Builder& b, const TokenSegments& s, ValueId x, int64_t lag, bool ahead) {
  const ValueId t = ops::iota(b, b.type(s.id), 0);
  ValueId row, there;
  if (ahead) {
    row = ops::add(b, t, whole_number(b, lag));
    there = ops::compare(b, row, s.end, "lt");
  } else {
    row = ops::sub(b, t, whole_number(b, lag));
    there = ops::compare(b, row, s.begin, "ge");
  }
  there = ops::minimum(b, there, s.inside);
  const ValueId ids = ops::select(b, there, row, whole_number(b, -1));
  return widened(b, ops::gather_rows(b, x, ids));
}

ValueId tap_of(Builder& b, ValueId w, int64_t tap, const Type& like) {
  const int64_t channels = like.shape[1];
  const ValueId column = ops::reshape(b, ops::slice(b, widened(b, w), 1, tap, tap + 1), {channels});
  return ops::broadcast(b, column, like.shape, {1});
}

}  // namespace hone
