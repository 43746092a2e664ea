// causal_conv1d(x, w, bias?, cu, state?): a filter of K taps for each channel, over the tokens of each
// segment by itself:
//   y[t,c] = bias[c] + sum_j w[c,j] x[t - (K - 1) + j, c],
// where rows before the segment's first token are 0, or the last of `state` if it is given. x [T,C],
// w [C,K], bias [C], cu i32[S+1], state [S,(K-1)*C]: the K - 1 rows before each segment, in order.
// Tokens past the last segment: 0. -> y of x's type; with state also the state after each segment. The
// state has no gradient.
#include "engine/ops/causal_conv_parts.h"

namespace hone {
namespace {

Result<Types> infer_causal_conv(const NodeView& n) {
  const CausalConvDims d = HONE_TRY(causal_conv_dims(n));
  const Type x = n.in("x"), w = n.in("w");
  if (n.has("bias")) HONE_TRY(expect_type(n, n.slot("bias"), {w.dtype, {d.channels}}));
  if (!n.has("state")) return Types{x};
  const Type state{x.dtype, {d.segments, (d.taps - 1) * d.channels}};
  HONE_TRY(expect_type(n, n.slot("state"), state));
  return Types{x, state};
}

// The rows of state and x one after the other, and where each row of the result is in them.
struct RowsBefore {
  ValueId rows = kNoValue;  // [S*(K-1)+T,C]
  ValueId cu;
  CausalConvDims d;
};

ValueId int_of(Builder& b, int64_t x) {
  return ops::constant(b, static_cast<double>(x), {DType::i32, {}});
}

ValueId rows_with_state(Builder& b, const RowsBefore& r, const TokenSegments& s, int64_t lag) {
  const int64_t before = r.d.taps - 1;
  const ValueId t = ops::iota(b, b.type(s.id), 0);
  const ValueId row = ops::sub(b, t, int_of(b, lag));
  const ValueId in_x = ops::add(b, row, int_of(b, r.d.segments * before));
  const ValueId of_segment = ops::mul(b, s.id, int_of(b, before));
  const ValueId in_state =
      ops::add(b, ops::add(b, of_segment, int_of(b, before)), ops::sub(b, row, s.begin));
  const ValueId at = ops::select(b, ops::compare(b, row, s.begin, "ge"), in_x, in_state);
  return ops::gather_rows(b, r.rows, ops::select(b, s.inside, at, int_of(b, -1)));
}

ValueId next_state(Builder& b, const RowsBefore& r) {
  const int64_t S = r.d.segments, before = r.d.taps - 1;
  const Type grid{DType::i32, {S, before}};
  const auto along = [&](int64_t from) {
    return ops::broadcast(b, ops::slice(b, r.cu, 0, from, from + S), grid.shape, {0});
  };
  const ValueId begin = along(0), end = along(1);
  const ValueId i = ops::iota(b, grid, 1);
  const ValueId row = ops::add(b, ops::sub(b, end, int_of(b, before)), i);
  const ValueId in_x = ops::add(b, row, int_of(b, S * before));
  const ValueId of_segment = ops::mul(b, ops::iota(b, grid, 0), int_of(b, before));
  const ValueId in_state = ops::add(b, ops::add(b, of_segment, i), ops::sub(b, end, begin));
  const ValueId at = ops::select(b, ops::compare(b, row, begin, "ge"), in_x, in_state);
  const ValueId rows = ops::gather_rows(b, r.rows, ops::reshape(b, at, {S * before}));
  return ops::reshape(b, rows, {S, before * r.d.channels});
}

Values decompose_causal_conv(Builder& b, const NodeView& n) {
  Result<CausalConvDims> checked = causal_conv_dims(n);
  HONE_BUG_IF(!checked, "{}", checked.error().text());
  const CausalConvDims d = *checked;
  const Type x = n.in("x"), sum{wide(x.dtype), x.shape};
  const ValueId input = n.input("x"), w = n.input("w"), cu = n.input("cu");
  const ValueId bias = n.has("bias") ? n.input("bias") : kNoValue;
  const ValueId state = n.has("state") ? n.input("state") : kNoValue;
  const TokenSegments s = token_segments(b, cu, d.tokens, d.segments);
  RowsBefore r{kNoValue, cu, d};
  const bool carries = state != kNoValue && d.taps > 1;
  if (carries) {
    const ValueId rows = ops::reshape(b, state, {d.segments * (d.taps - 1), d.channels});
    r.rows = ops::concat(b, {rows, input}, 0);
  }
  ValueId y = kNoValue;
  for (int64_t tap = 0; tap < d.taps; ++tap) {
    const int64_t lag = d.taps - 1 - tap;
    const ValueId row =
        carries ? widened(b, rows_with_state(b, r, s, lag)) : rows_apart(b, s, input, lag, false);
    const ValueId term = ops::mul(b, row, tap_of(b, w, tap, sum));
    y = y == kNoValue ? term : ops::add(b, y, term);
  }
  if (bias != kNoValue) {
    const ValueId all = ops::broadcast(b, widened(b, bias), sum.shape, {1});
    const ValueId inside = ops::broadcast(b, s.inside, sum.shape, {0});
    y = ops::add(b, y, ops::select(b, inside, all, number(b, 0, all)));
  }
  Values results{ops::cast(b, y, x.dtype)};
  if (state != kNoValue) results.push_back(carries ? next_state(b, r) : state);
  return results;
}

Values grad_causal_conv(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(n.has("state"), "causal_conv1d: a state has no gradient");
  Values result(n.inputs(), kNoValue);
  Attrs attrs;
  const bool bias = n.has("bias");
  if (bias) attrs.set("bias", true);
  const size_t x = n.slot("x"), w = n.slot("w"), of_bias = bias ? n.slot("bias") : 0;
  const Values g =
      b.emit("causal_conv1d_grad", {n.input("x"), n.input("w"), n.input("cu"), d[0]}, attrs);
  result[x] = g[0];
  result[w] = g[1];
  if (bias) result[of_bias] = g[2];
  return result;
}

Cost cost_causal_conv(const NodeView& n) {
  return elementwise(n, 2.0 * static_cast<double>(n.in("w").shape[1]));
}

}  // namespace

Op define_causal_conv1d() {
  return {.name = "causal_conv1d",
          .operands = {"x", "w", "bias?", "cu", "state?"},
          .infer = infer_causal_conv,
          .decompositions = {decompose_causal_conv},
          .grad = grad_causal_conv,
          .cost = cost_causal_conv};
}

ops::CausalConv ops::causal_conv1d(Builder& b, ValueId x, ValueId w, ValueId bias, ValueId cu,
                                   ValueId state) {
  const Values v = b.emit("causal_conv1d", {x, w, bias, cu, state});
  return {v[0], state == kNoValue ? kNoValue : v[1]};
}

}  // namespace hone
