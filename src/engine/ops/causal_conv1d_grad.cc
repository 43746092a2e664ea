// causal_conv1d_grad(x, w, cu, dy): the gradients of causal_conv1d without a state, over the tokens of each
// segment:
//   dx[t,c] = sum_j w[c,j] dy[t + (K - 1) - j, c],   dw[c,j] = sum_t x[t - (K - 1) + j, c] dy[t,c],
//   dbias[c] = sum_t dy[t,c].
// -> dx of x's type, dw of w's; with attribute bias also dbias [C] of w's.
#include "engine/ops/causal_conv_parts.h"

namespace hone {
namespace {

Result<Types> infer_causal_conv_grad(const NodeView& n) {
  const CausalConvDims d = HONE_TRY(causal_conv_dims(n));
  const Type x = n.in("x"), w = n.in("w");
  HONE_TRY(expect_type(n, n.slot("dy"), x));
  Types types{x, w};
  if (n.flag("bias")) types.push_back({w.dtype, {d.channels}});
  return types;
}

Values decompose_causal_conv_grad(Builder& b, const NodeView& n) {
  Result<CausalConvDims> checked = causal_conv_dims(n);
  HONE_BUG_IF(!checked, "{}", checked.error().text());
  const CausalConvDims d = *checked;
  const Type x = n.in("x"), sum{wide(x.dtype), x.shape};
  const DType of_weights = n.in("w").dtype;
  const ValueId input = n.input("x"), w = n.input("w"), dy = n.input("dy");
  const bool bias = n.flag("bias");
  const TokenSegments s = token_segments(b, n.input("cu"), d.tokens, d.segments);
  const ValueId grads = rows_apart(b, s, dy, 0, false);  // [T,C], zeros past the last segment
  ValueId dx = kNoValue;
  Values columns;
  for (int64_t tap = 0; tap < d.taps; ++tap) {
    const int64_t lag = d.taps - 1 - tap;
    const ValueId term = ops::mul(b, rows_apart(b, s, dy, lag, true), tap_of(b, w, tap, sum));
    dx = dx == kNoValue ? term : ops::add(b, dx, term);
    const ValueId products = ops::mul(b, rows_apart(b, s, input, lag, false), grads);
    columns.push_back(ops::reshape(b, ops::reduce_sum(b, products, {0}), {d.channels, 1}));
  }
  const ValueId dw = columns.size() == 1 ? columns[0] : ops::concat(b, columns, 1);
  Values results{ops::cast(b, dx, x.dtype), ops::cast(b, dw, of_weights)};
  if (bias) results.push_back(ops::cast(b, ops::reduce_sum(b, grads, {0}), of_weights));
  return results;
}

Cost cost_causal_conv_grad(const NodeView& n) {
  return elementwise(n, 4.0 * static_cast<double>(n.in("w").shape[1]));
}

}  // namespace

Op define_causal_conv1d_grad() {
  return {.name = "causal_conv1d_grad",
          .operands = {"x", "w", "cu", "dy"},
          .attrs = {{"bias", false}},
          .infer = infer_causal_conv_grad,
          .decompositions = {decompose_causal_conv_grad},
          .cost = cost_causal_conv_grad};
}

}  // namespace hone
