// linear(x, W, bias?, residual?, scales?, nested_scales?, offset?) = act(x W + bias) + residual.
// x [T,K], W [K,N] or [N,K] (trans_w), bias [N], residual [T,N] -> y [T,N]; with save_pre also x W
// + bias, which the gradient needs. W may be kept in fewer bits, and then has no gradient: bf16, or
// i8 with scales [N], where output column n is scales[n] times that of W, and a kernel may round a
// row of x to 15 bits or more; or with attribute scheme a payload in blocks with the scales of
// dequantize. A weight in blocks is frozen: x has a gradient. With attribute bf16, or f16, the
// product is that of x and W rounded to it (see matmul), and so are those of the gradient; W may
// then be kept in that type. Attribute `as`: the type that the results are rounded to; the bias is
// rounded to it first, and act is applied to x W + bias as that is kept.
#include "engine/ops/block_schemes.h"
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_linear(const NodeView& n) {
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 1, 2));
  Shape w = n.in("w").shape;
  const BlockScheme* scheme = block_scheme(n.text("scheme"));
  if (scheme != nullptr) {
    HONE_TRY(check_payload(n, *scheme, n.in("w")));
    w[1] = scheme->columns(w[1]);
  }
  bool trans = n.flag("trans_w");
  int64_t k = trans ? w[1] : w[0], cols = trans ? w[0] : w[1];
  if (n.in(0).shape[1] != k) return bad_operands(n, "inner sizes differ");
  // A quantised weight is widened before it is rounded.
  const bool quantised = scheme != nullptr || n.in("w").dtype == DType::i8;
  const bool rounds = rounded_to(n) != DType::f32;
  const DType dtype = !rounds     ? n.in(0).dtype
                      : quantised ? wide(n.in(0).dtype)
                                  : HONE_TRY(product_type(n, 0, 1));
  Type y{HONE_TRY(kept_type(n, dtype)), {n.in(0).shape[0], cols}};
  if (n.has("bias") && n.in("bias").shape != Shape{cols})
    return bad_operands(n, "the bias has another size than the result's rows");
  if (n.has("residual")) HONE_TRY(expect_addend(n, n.slot("residual"), y, dtype));
  const DType kept = n.in("w").dtype;
  if (scheme != nullptr) {
    HONE_TRY(check_block_scales(n, *scheme, w));
    return n.flag("save_pre") ? Types{y, y} : Types{y};
  }
  if (n.has("nested_scales") || n.has("offset"))
    return bad_operands(n, "nested_scales and offset belong to a scheme");
  if (n.has("scales") != (kept == DType::i8))
    return bad_operands(n, "a weight in i8 comes with scales, another one without");
  if (n.has("scales") && n.in("scales") != Type{dtype, {cols}})
    return bad_operands(n, "there is one scale, of the result's type, for each of its columns");
  if (n.flag("save_pre")) return Types{y, y};
  return Types{y};
}

// The weight in blocks as dequantize takes it.
ops::InBlocks blocks_of(const NodeView& n) {
  return {n.text("scheme"), n.input("w"), n.input("scales"), n.input("nested_scales"),
          n.input("offset")};
}

// The results in the type that attribute `as` names, of the product `pre`.
Values rounded_results(Builder& b, const NodeView& n, ValueId pre) {
  const Type own = b.type(pre);
  const DType kept = n.out(0).dtype;
  const bool has_pre = n.flag("save_pre") || n.text("act") != "none";
  if (n.has("bias")) {
    const ValueId bias = ops::cast(b, ops::cast(b, n.input("bias"), kept), own.dtype);
    pre = ops::add(b, pre, ops::broadcast(b, bias, own.shape, {1}));
  }
  const ValueId kept_pre = has_pre ? ops::cast(b, pre, kept) : kNoValue;
  ValueId y = has_pre ? ops::cast(b, kept_pre, own.dtype) : pre;
  y = ops::activation(b, y, n.text("act"));
  if (n.has("residual")) y = ops::add(b, y, ops::cast(b, n.input("residual"), own.dtype));
  y = ops::cast(b, y, kept);
  return n.flag("save_pre") ? Values{y, kept_pre} : Values{y};
}

Values decompose_linear(Builder& b, const NodeView& n) {
  const bool in_blocks = !n.text("scheme").empty();
  const ValueId w = in_blocks ? ops::dequantize(b, blocks_of(n), n.in("x").dtype)
                    : rounded_to(n) != DType::f32 ? n.input("w")
                                                  : ops::cast(b, n.input("w"), n.in("x").dtype);
  ValueId pre = ops::matmul(b, n.input("x"), w, false, n.flag("trans_w"), rounded_to(n));
  auto by_column = [&](const char* operand) {
    return ops::broadcast(b, n.input(operand), b.type(pre).shape, {1});
  };
  if (n.has("scales") && !in_blocks) pre = ops::mul(b, pre, by_column("scales"));
  if (!n.text("as").empty()) return rounded_results(b, n, pre);
  if (n.has("bias")) pre = ops::add(b, pre, by_column("bias"));
  ValueId y = ops::activation(b, pre, n.text("act"));
  if (n.has("residual")) y = ops::add(b, y, n.input("residual"));
  return n.flag("save_pre") ? Values{y, pre} : Values{y};
}

Values grad_linear(Builder& b, const NodeView& n, const Values& d) {
  std::string act = n.text("act");
  const bool trans = n.flag("trans_w");
  const DType rounded = rounded_to(n);
  HONE_BUG_IF(act != "none" && !n.flag("save_pre"),
              "linear with {} needs save_pre for its gradient", act);
  const bool in_blocks = !n.text("scheme").empty(), narrow = n.in("w").dtype == DType::bf16;
  const bool frozen = n.in("w").dtype != n.in("x").dtype;
  HONE_BUG_IF(frozen && !in_blocks && !narrow, "linear with a weight in {} has no gradient",
              name_of(n.in("w").dtype));
  ValueId dpre = act == "none" ? d[0] : ops::activation_grad(b, n.output(1), d[0], act);
  ValueId dx = kNoValue;
  if (in_blocks) {
    Attrs turned{{"scheme", n.text("scheme")}};
    if (!trans) turned.set("trans_w", true);
    set_rounding(turned, rounded);
    dx = b.emit1("linear",
                 {dpre, n.input("w"), kNoValue, kNoValue, n.input("scales"),
                  n.input("nested_scales"), n.input("offset")},
                 turned);
  } else {
    dx = ops::linear(b, dpre, n.input("w"), {.trans_w = !trans, .rounded = rounded});
  }
  ValueId dw = frozen  ? kNoValue
               : trans ? ops::matmul(b, dpre, n.input("x"), true, false, rounded)
                       : ops::matmul(b, n.input("x"), dpre, true, false, rounded);
  ValueId dbias = n.has("bias") ? ops::sum_rows(b, dpre) : kNoValue;
  return {dx, dw, dbias, n.has("residual") ? d[0] : kNoValue, kNoValue, kNoValue, kNoValue};
}

Cost cost_linear(const NodeView& n) { return product_cost(n, n.out(0).count(), n.in(0).shape[1]); }

}  // namespace

Op define_linear() {
  return {.name = "linear",
          .operands = {"x", "w", "bias?", "residual?", "scales?", "nested_scales?", "offset?"},
          .attrs = with_rounding({{"trans_w", false},
                                  {"scheme", "", scheme_choices(false)},
                                  {"act", "none", activation_kinds("none")},
                                  {"save_pre", false},
                                  kept_attr()}),
          .infer = infer_linear,
          .decompositions = {decompose_linear},
          .grad = grad_linear,
          .cost = cost_linear,
          .over = {{0, "residual"}},
          .optional_results = {"save_pre"},
          .product = true,
          .stored_weight = Op::kWeightOperand};
}

ValueId ops::linear(Builder& b, ValueId x, ValueId w, const LinearOptions& o) {
  Attrs attrs;
  if (o.trans_w) attrs.set("trans_w", true);
  if (o.act != "none") {
    attrs.set("act", o.act);
    attrs.set("save_pre", true);
  }
  set_rounding(attrs, o.rounded);
  return b.emit1("linear", {x, w, o.bias, o.residual}, attrs);
}

}  // namespace hone
