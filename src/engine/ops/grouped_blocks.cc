// grouped_blocks(x, payload, starts, scales?, nested_scales?, offset?): grouped_matmul with the weights of all groups
// as one matrix in blocks (block_schemes.h). payload u8[G*M,P], whose rows g*M to g*M + M-1 are the matrix
// [M,K] of group g, with the scales that dequantize takes; starts i32[G+1]. x [N,K] -> [N,M] with trans_w, else
// x [N,M] -> [N,K]. The weights are frozen: x alone has a gradient. Attributes bf16, f16 and `as` as in matmul.
#include "engine/ops/block_schemes.h"
#include "engine/ops/support.h"

namespace hone {
namespace {

int64_t groups_of(const NodeView& n) { return n.in("starts").shape[0] - 1; }

// [G,M,K]
Shape stacked_shape(const NodeView& n) {
  const Shape& payload = n.in("payload").shape;
  return {groups_of(n), payload[0] / groups_of(n),
          block_scheme(n.text("scheme"))->columns(payload[1])};
}

Result<Types> infer_grouped_blocks(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_rank(n, 1, 2));
  HONE_TRY(expect_rank(n, 2, 1));
  const BlockScheme& scheme = *block_scheme(n.text("scheme"));
  HONE_TRY(check_payload(n, scheme, n.in("payload")));
  const int64_t groups = groups_of(n);
  HONE_TRY(expect_type(n, 2, {DType::i32, {groups + 1}}));
  if (groups < 1 || n.in("payload").shape[0] % groups != 0)
    return bad_operands(n, fmt::format("the rows are not those of {} matrices", groups));
  const Shape w = stacked_shape(n);
  HONE_TRY(check_block_scales(n, scheme, {w[0] * w[1], w[2]}));
  const bool trans = n.flag("trans_w");
  if (n.in(0).shape[1] != w[trans ? 2 : 1]) return bad_operands(n, "inner sizes differ");
  const DType dtype = rounded_to(n) == DType::f32 ? n.in(0).dtype : wide(n.in(0).dtype);
  return Types{{HONE_TRY(kept_type(n, dtype)), {n.in(0).shape[0], w[trans ? 1 : 2]}}};
}

Values decompose_grouped_blocks(Builder& b, const NodeView& n) {
  const ops::InBlocks blocks{n.text("scheme"), n.input("payload"), n.input("scales"),
                             n.input("nested_scales"), n.input("offset")};
  const ValueId w = ops::reshape(b, ops::dequantize(b, blocks, n.in("x").dtype), stacked_shape(n));
  Attrs attrs;
  if (n.flag("trans_w")) attrs.set("trans_w", true);
  set_rounding(attrs, rounded_to(n));
  if (!n.text("as").empty()) attrs.set("as", n.text("as"));
  return {b.emit1("grouped_matmul", {n.input("x"), w, n.input("starts")}, attrs)};
}

Values grad_grouped_blocks(Builder& b, const NodeView& n, const Values& d) {
  Attrs attrs{{"scheme", n.text("scheme")}};
  if (!n.flag("trans_w")) attrs.set("trans_w", true);
  set_rounding(attrs, rounded_to(n));
  Values grads(n.inputs(), kNoValue);
  grads[0] = b.emit1("grouped_blocks",
                     {d[0], n.input("payload"), n.input("starts"), n.input("scales"),
                      n.input("nested_scales"), n.input("offset")},
                     attrs);
  return grads;
}

Cost cost_grouped_blocks(const NodeView& n) {
  return product_cost(n, n.out(0).count(), n.in(0).shape[1]);
}

}  // namespace

Op define_grouped_blocks() {
  return {.name = "grouped_blocks",
          .operands = {"x", "payload", "starts", "scales?", "nested_scales?", "offset?"},
          .attrs = with_rounding({required("scheme", std::string(), block_scheme_names()),
                                  {"trans_w", false},
                                  kept_attr()}),
          .infer = infer_grouped_blocks,
          .decompositions = {decompose_grouped_blocks},
          .grad = grad_grouped_blocks,
          .cost = cost_grouped_blocks,
          .product = true};
}

ValueId ops::grouped_blocks(Builder& b, ValueId x, const InBlocks& w, ValueId starts, bool trans_w,
                            DType rounded) {
  Attrs attrs{{"scheme", w.scheme}};
  if (trans_w) attrs.set("trans_w", true);
  set_rounding(attrs, rounded);
  return b.emit1("grouped_blocks", {x, w.payload, starts, w.scales, w.nested_scales, w.offset},
                 attrs);
}

}  // namespace hone
