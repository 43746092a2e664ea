// linear(x, W, bias?, residual?, scales?) = act(x W + bias) + residual.   x [T,K], W [K,N] or [N,K]
// (trans_w), bias [N], residual [T,N] -> y [T,N]; with save_pre also x W + bias, which the gradient
// needs. W may be kept in fewer bits, and then has no gradient: bf16, or i8 with scales [N], where
// output column n is scales[n] times that of W. With attribute bf16 the product is that of x and W
// rounded to it (see matmul), and so are those of the gradient.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer(const NodeView& n) {
  HONE_TRY(expect_inputs(n, 2, 5));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 1, 2));
  const Shape& w = n.in(1).shape;
  bool trans = n.attrs().flag("trans_w");
  int64_t k = trans ? w[1] : w[0], cols = trans ? w[0] : w[1];
  if (n.in(0).shape[1] != k) return bad_operands(n, "inner sizes differ");
  Type y{n.in(0).dtype, {n.in(0).shape[0], cols}};
  if (n.has(2) && n.in(2).shape != Shape{cols})
    return bad_operands(n, "the bias has another size than the result's rows");
  if (n.has(3) && n.in(3) != y)
    return bad_operands(n, "the residual has another type than the result");
  const DType kept = n.in(1).dtype;
  if (n.has(4) != (kept == DType::i8))
    return bad_operands(n, "a weight in i8 comes with scales, another one without");
  if (n.has(4) && n.in(4) != Type{y.dtype, {cols}})
    return bad_operands(n, "there is one scale, of the result's type, for each of its columns");
  if (std::string act = n.attrs().text("act", "none"); act != "none")
    HONE_TRY(expect_activation(n, act));
  if (n.attrs().flag("save_pre")) return Types{y, y};
  return Types{y};
}

Values decompose(Builder& b, const NodeView& n) {
  const ValueId w = ops::cast(b, n.input(1), n.in(0).dtype);
  ValueId pre =
      ops::matmul(b, n.input(0), w, false, n.attrs().flag("trans_w"), n.attrs().flag("bf16"));
  if (n.has(4)) pre = ops::mul(b, pre, ops::broadcast(b, n.input(4), b.type(pre).shape, {1}));
  if (n.has(2)) pre = ops::add(b, pre, ops::broadcast(b, n.input(2), b.type(pre).shape, {1}));
  ValueId y = ops::activation(b, pre, n.attrs().text("act", "none"));
  if (n.has(3)) y = ops::add(b, y, n.input(3));
  return n.attrs().flag("save_pre") ? Values{y, pre} : Values{y};
}

Values grad(Builder& b, const NodeView& n, const Values& d) {
  std::string act = n.attrs().text("act", "none");
  bool trans = n.attrs().flag("trans_w"), bf16 = n.attrs().flag("bf16");
  HONE_BUG_IF(act != "none" && !n.attrs().flag("save_pre"),
              "linear with {} needs save_pre for its gradient", act);
  HONE_BUG_IF(n.in(1).dtype != n.in(0).dtype, "linear with a weight in {} has no gradient",
              name_of(n.in(1).dtype));
  ValueId dpre = act == "none" ? d[0] : ops::activation_grad(b, n.output(1), d[0], act);
  ValueId dx = ops::linear(b, dpre, n.input(1), {.trans_w = !trans, .bf16 = bf16});
  ValueId dw = trans ? ops::matmul(b, dpre, n.input(0), true, false, bf16)
                     : ops::matmul(b, n.input(0), dpre, true, false, bf16);
  ValueId dbias = n.has(2) ? ops::sum_rows(b, dpre) : kNoValue;
  return {dx, dw, dbias, n.has(3) ? d[0] : kNoValue};
}

Cost cost(const NodeView& n) {
  Cost c = elementwise(n, 0);
  c.flops = 2.0 * static_cast<double>(n.out(0).count()) * static_cast<double>(n.in(0).shape[1]);
  return c;
}

}  // namespace

Op define_linear() {
  Op op{"linear", infer, decompose, grad, cost, {3}};
  op.optional_results = {"save_pre"};
  return op;
}

ValueId ops::linear(Builder& b, ValueId x, ValueId w, const LinearOptions& o) {
  Attrs attrs;
  if (o.trans_w) attrs.set("trans_w", true);
  if (o.act != "none") {
    attrs.set("act", o.act);
    attrs.set("save_pre", true);
  }
  if (o.bf16) attrs.set("bf16", true);
  return b.emit1("linear", {x, w, o.bias, o.residual}, attrs);
}

}  // namespace hone
