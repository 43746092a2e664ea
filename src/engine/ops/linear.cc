// linear(x, W, bias?, residual?, scales?) = act(x W + bias) + residual.   x [T,K], W [K,N] or [N,K]
// (trans_w), bias [N], residual [T,N] -> y [T,N]; with save_pre also x W + bias, which the gradient
// needs. W may be kept in fewer bits, and then has no gradient: bf16, or i8 with scales [N], where
// output column n is scales[n] times that of W. With attribute bf16 the product is that of x and W
// rounded to it (see matmul), and so are those of the gradient.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_linear(const NodeView& n) {
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 1, 2));
  const Shape& w = n.in("w").shape;
  bool trans = n.flag("trans_w");
  int64_t k = trans ? w[1] : w[0], cols = trans ? w[0] : w[1];
  if (n.in(0).shape[1] != k) return bad_operands(n, "inner sizes differ");
  Type y{n.in(0).dtype, {n.in(0).shape[0], cols}};
  if (n.has("bias") && n.in("bias").shape != Shape{cols})
    return bad_operands(n, "the bias has another size than the result's rows");
  if (n.has("residual") && n.in("residual") != y)
    return bad_operands(n, "the residual has another type than the result");
  const DType kept = n.in("w").dtype;
  if (n.has("scales") != (kept == DType::i8))
    return bad_operands(n, "a weight in i8 comes with scales, another one without");
  if (n.has("scales") && n.in("scales") != Type{y.dtype, {cols}})
    return bad_operands(n, "there is one scale, of the result's type, for each of its columns");
  if (n.flag("save_pre")) return Types{y, y};
  return Types{y};
}

Values decompose_linear(Builder& b, const NodeView& n) {
  const ValueId w = ops::cast(b, n.input("w"), n.in("x").dtype);
  ValueId pre = ops::matmul(b, n.input("x"), w, false, n.flag("trans_w"), n.flag("bf16"));
  auto by_column = [&](const char* operand) {
    return ops::broadcast(b, n.input(operand), b.type(pre).shape, {1});
  };
  if (n.has("scales")) pre = ops::mul(b, pre, by_column("scales"));
  if (n.has("bias")) pre = ops::add(b, pre, by_column("bias"));
  ValueId y = ops::activation(b, pre, n.text("act"));
  if (n.has("residual")) y = ops::add(b, y, n.input("residual"));
  return n.flag("save_pre") ? Values{y, pre} : Values{y};
}

Values grad_linear(Builder& b, const NodeView& n, const Values& d) {
  std::string act = n.text("act");
  bool trans = n.flag("trans_w"), bf16 = n.flag("bf16");
  HONE_BUG_IF(act != "none" && !n.flag("save_pre"),
              "linear with {} needs save_pre for its gradient", act);
  HONE_BUG_IF(n.in("w").dtype != n.in("x").dtype, "linear with a weight in {} has no gradient",
              name_of(n.in("w").dtype));
  ValueId dpre = act == "none" ? d[0] : ops::activation_grad(b, n.output(1), d[0], act);
  ValueId dx = ops::linear(b, dpre, n.input("w"), {.trans_w = !trans, .bf16 = bf16});
  ValueId dw = trans ? ops::matmul(b, dpre, n.input("x"), true, false, bf16)
                     : ops::matmul(b, n.input("x"), dpre, true, false, bf16);
  ValueId dbias = n.has("bias") ? ops::sum_rows(b, dpre) : kNoValue;
  return {dx, dw, dbias, n.has("residual") ? d[0] : kNoValue};
}

Cost cost_linear(const NodeView& n) {
  Cost c = elementwise(n, 0);
  c.flops = 2.0 * static_cast<double>(n.out(0).count()) * static_cast<double>(n.in(0).shape[1]);
  return c;
}

}  // namespace

Op define_linear() {
  return {.name = "linear",
          .operands = {"x", "w", "bias?", "residual?", "scales?"},
          .attrs = {{"trans_w", false},
                    {"act", "none", activation_kinds("none")},
                    {"save_pre", false},
                    {"bf16", false}},
          .infer = infer_linear,
          .decompositions = {decompose_linear},
          .grad = grad_linear,
          .cost = cost_linear,
          .over = {{0, "residual"}},
          .optional_results = {"save_pre"},
          .product = true};
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
