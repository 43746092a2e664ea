// linear_activation_grad(x, W, pre) = (x W) f'(pre), f named by attribute `kind`: the gradient that reaches a layer's
// activation through the layer after it, whose gradient is x, and the gradient of the activation's operand in one.
// x [T,K], W [K,N] or [N,K] (trans_w), pre [T,N] of the result's type -> [T,N]; with attribute `remade` also f(pre)
// [T,N], with attribute `sums` also the sums of the rows of the first result, in wide() of its type: [N]. A kernel may
// round x W to the result's type before it multiplies by f'(pre), and the sums to that type. Attributes bf16, f16 and `as`:
// those of linear.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_linear_activation_grad(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 1, 2));
  const Shape &x = n.in("x").shape, &w = n.in("w").shape;
  const bool trans = n.flag("trans_w");
  if (x[1] != (trans ? w[1] : w[0])) return bad_operands(n, "inner sizes differ");
  const DType dtype = HONE_TRY(product_type(n, n.slot("x"), n.slot("w")));
  const Type y{HONE_TRY(kept_type(n, dtype)), {x[0], trans ? w[0] : w[1]}};
  HONE_TRY(expect_addend(n, n.slot("pre"), y, dtype));
  Types made{y};
  if (n.flag("remade")) made.push_back(y);
  if (n.flag("sums")) made.push_back({wide(y.dtype), {y.shape[1]}});
  return made;
}

Values decompose_linear_activation_grad(Builder& b, const NodeView& n) {
  Attrs product, slope{{"kind", n.text("kind")}};
  for (const char* own : {"trans_w", "bf16", "f16"})
    if (n.flag(own)) product.set(own, true);
  if (!n.text("as").empty()) product.set("as", n.text("as"));
  for (const char* own : {"remade", "sums"})
    if (n.flag(own)) slope.set(own, true);
  const ValueId pre = n.input("pre"), dy = b.emit1("linear", {n.input("x"), n.input("w")}, product);
  Values made = b.emit("activation_grad", {pre, ops::cast(b, dy, b.type(pre).dtype)}, slope);
  for (size_t k = 0; k < made.size(); ++k) made[k] = ops::cast(b, made[k], n.out(k).dtype);
  return made;
}

// The activation that is made again has a kernel of its own, which reads `pre` a second time.
Cost cost_linear_activation_grad(const NodeView& n) {
  Cost c = elementwise(n, 30);
  c.flops += 2.0 * static_cast<double>(n.out(0).count()) * static_cast<double>(n.in(0).shape[1]);
  if (n.flag("remade")) c.bytes += static_cast<double>(n.in("pre").bytes());
  return c;
}

}  // namespace

Op define_linear_activation_grad() {
  return {.name = "linear_activation_grad",
          .operands = {"x", "w", "pre"},
          .attrs = with_rounding({{"trans_w", false},
                                  required("kind", "", activation_kinds()),
                                  {"remade", false},
                                  {"sums", false},
                                  kept_attr()}),
          .infer = infer_linear_activation_grad,
          .decompositions = {decompose_linear_activation_grad},
          .cost = cost_linear_activation_grad,
          .over = {{1, "pre"}},
          .optional_results = {"remade", "sums"},
          .product = true};
}

}  // namespace hone
