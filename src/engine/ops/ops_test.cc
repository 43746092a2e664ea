#include "engine/ops/ops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/graph/text.h"
#include "engine/graph/verify.h"
#include "engine/ops/cost.h"

namespace hone {
namespace {

using testing::HasSubstr;

// The error of `op(types...) {attrs}`, or "" when it is accepted.
std::string refusal(const std::string& op, const std::vector<std::string>& types,
                    const std::string& attrs = "{}") {
  std::string text, operands;
  for (size_t i = 0; i < types.size(); ++i) {
    bool absent = types[i] == "_";
    if (!absent) text += fmt::format("input \"{}\" %{} : {}\n", i, i, types[i]);
    operands += fmt::format("{}{}", i ? ", " : "", absent ? "_" : fmt::format("%{}", i));
  }
  Result<Program> p = parse_program(
      text + fmt::format("%99 : f32[] = {}({}) {}\n", op, operands, attrs), op_table());
  if (!p) return p.error().text();
  const NodeView node{*p, p->nodes[0]};
  if (const Status fits = check_node(node); !fits.ok()) return fits.error().text();
  Result<Types> t = node.node.op->infer(node);
  return t ? "" : t.error().text();
}

TEST(Ops, EveryOpIsComplete) {
  std::vector<std::string> without_gradient;
  for (const Op* op : op_table().all()) {
    EXPECT_TRUE(op->infer) << op->name;
    for (const Overwrite& o : op->over) EXPECT_TRUE(op->takes(o.operand)) << op->name;
    if (!op->grad) without_gradient.push_back(op->name);
  }
  EXPECT_THAT(
      without_gradient,
      testing::ElementsAre(
          "activation_grad", "adafactor", "adagrad", "adamw", "adamw_4bit", "adamw_8bit",
          "ademamix", "all_gather", "apollo_adamw", "attention_dropout_mask", "attention_grad",
          "avg_pool2d_grad", "batch_norm_grad", "batch_norm_sums", "cache_write",
          "causal_conv1d_grad", "clip_scale", "column_moments", "combine_rows_grad", "compare",
          "constant", "conv2d_grad_input", "conv2d_grad_weight", "copy", "dequantize_dynamic",
          "disentangled_attention_grad", "dropout_mask", "fold_units", "gate_grad",
          "gated_delta_rule_grad", "group_rows", "halves", "iota", "lamb", "lars",
          "layer_norm_grad", "linear_activation_grad", "lion", "lion_8bit", "max_pool2d_grad",
          "muon", "quantize_dynamic", "random_normal", "reduce_scatter", "rms_norm_grad", "rmsprop",
          "round_stochastic", "schedule_free_adamw", "sgd", "softmax_grad", "stable_adamw",
          "sum_squares", "top_k_grad", "upper_half"));
}

TEST(Ops, RefusalsNameOpRuleAndShapes) {
  EXPECT_EQ(refusal("matmul", {"f32[8,512,768]", "f32[2304,768]"}),
            "H1203  matmul: operands need the same number of dimensions, at least 2: lhs "
            "f32[8,512,768], rhs f32[2304,768]");
  EXPECT_EQ(refusal("matmul", {"f32[8,768]", "f32[2304,768]"}),
            "H1203  matmul: inner sizes differ: lhs f32[8,768], rhs f32[2304,768]");
  EXPECT_EQ(refusal("matmul", {"f32[8,768]", "f32[2304,768]"}, "{trans_y=true}"), "");
  EXPECT_EQ(refusal("linear", {"f32[8,768]", "f32[768,2304]", "f32[768]"}),
            "H1203  linear: the bias has another size than the result's rows: inputs f32[8,768], "
            "f32[768,2304], f32[768]");
  EXPECT_THAT(refusal("linear", {"f32[8,4]", "f32[4,4]"}, "{act=\"swish\"}"),
              HasSubstr("act='swish' is not one of none, gelu"));
  EXPECT_THAT(refusal("add", {"f32[3]", "f64[3]"}), HasSubstr("element types differ"));
  EXPECT_THAT(refusal("add", {"f32[3]", "f32[4]"}), HasSubstr("shapes differ"));
  EXPECT_THAT(refusal("add", {"f32[3]"}), HasSubstr("add: operand 'y' is absent"));
  EXPECT_THAT(refusal("add", {"_", "f32[3]"}), HasSubstr("add: operand 'x' is absent"));
  EXPECT_THAT(refusal("exp", {"i32[3]"}), HasSubstr("input 0 must be floating-point"));
  EXPECT_THAT(refusal("reshape", {"f32[6]"}, "{shape=[4]}"),
              HasSubstr("[4] has another number of elements"));
  EXPECT_THAT(refusal("slice", {"f32[6]"}, "{axis=0, begin=2, end=7}"),
              HasSubstr("[2, 7) is outside 0..6"));
  EXPECT_THAT(refusal("transpose", {"f32[2,3]"}, "{permutation=[0,0]}"),
              HasSubstr("[0,0] is not a permutation"));
  EXPECT_THAT(refusal("broadcast", {"f32[3]"}, "{shape=[4,5], axes=[1]}"),
              HasSubstr("dimension 0 does not fit axis 1 of [4,5]"));
  EXPECT_THAT(refusal("all_reduce", {"f32[3]"}, "{ranks=2, rank=2}"),
              HasSubstr("rank 2 of 2 ranks"));
  EXPECT_THAT(refusal("all_reduce", {"f32[3]", "f64[3]"}, "{ranks=2, rank=0}"),
              HasSubstr("element types differ"));
  EXPECT_THAT(refusal("reduce_scatter", {"f32[]"}, "{ranks=2, rank=0}"),
              HasSubstr("a scalar has no rows"));
  EXPECT_THAT(refusal("reduce_scatter", {"f32[3]"}, "{ranks=2, rank=0, owners=[2]}"),
              HasSubstr("there is no rank 2"));
  EXPECT_THAT(refusal("all_gather", {"f32[]"}, "{ranks=2, rank=0, rows=[1], owners=[-2]}"),
              HasSubstr("there is no rank -2"));
  EXPECT_EQ(refusal("fold_units", {"f32[]", "i64[]"}, "{ranks=2, rank=0, count=1, owners=[-2]}"),
            "");
  EXPECT_THAT(refusal("fold_units", {"f32[]", "i64[]"}, "{ranks=2, rank=0, count=2}"),
              HasSubstr("count=2 does not fit the operands"));
  EXPECT_THAT(refusal("reduce_scatter", {"f32[3]"}, "{ranks=2, rank=0, units=[1,1]}"),
              HasSubstr("units has 2 entries for 1 tensors"));
  EXPECT_THAT(refusal("all_gather", {"f32[3]"}, "{ranks=2, rank=0, rows=[5]}"),
              HasSubstr("this rank has 2 of the 5 rows of tensor 0"));
  EXPECT_EQ(refusal("all_gather", {"f32[2]"}, "{ranks=2, rank=0, rows=[5]}"), "");
  EXPECT_THAT(refusal("top_k", {"f32[3,4]"}, "{k=5}"), HasSubstr("k=5 of 4 columns"));
  EXPECT_THAT(refusal("group_rows", {"i32[6]"}, "{groups=3, each=4}"), HasSubstr("each=4"));
  EXPECT_THAT(refusal("grouped_matmul", {"f32[6,4]", "f32[3,5,4]", "i32[4]"}),
              HasSubstr("inner sizes differ"));
  EXPECT_THAT(refusal("grouped_matmul", {"f32[6,4]", "f32[3,5,4]", "i32[3]"}, "{trans_w=true}"),
              HasSubstr("input 2 must be i32[4]"));
  EXPECT_THAT(refusal("grouped_outer", {"f32[6,4]", "f32[5,4]", "i32[4]"}),
              HasSubstr("numbers of rows differ"));
  EXPECT_THAT(refusal("combine_rows", {"f32[6,4]", "i32[6]", "f32[2,2]"}),
              HasSubstr("input 1 must be i32[4]"));
  EXPECT_THAT(refusal("compare", {"f32[3]", "f32[3]"}, "{how=\"less\"}"),
              HasSubstr("how='less' is not one of eq, ne"));
  EXPECT_THAT(refusal("embedding", {"f32[9,4]", "i64[3]"}), HasSubstr("the ids must be i32[T]"));
  EXPECT_THAT(refusal("dropout", {"f32[3,4]", "i64[2]", "i64[3]", "i32[3]"}, "{p=1.0, key=\"x\"}"),
              HasSubstr("p=1 is outside"));
  EXPECT_THAT(refusal("rope", {"f32[3,10]", "i32[3]", "f32[3]"}, "{heads=2}"),
              HasSubstr("2 heads of"));
  EXPECT_THAT(
      refusal("attention", {"f32[4,24]", "_", "_", "i32[3]", "i32[3]"}, "{heads=3, kv_heads=2}"),
      HasSubstr("3 heads over 2"));
  EXPECT_THAT(
      refusal("attention", {"f32[4,24]", "_", "_", "i32[3]", "i32[2]"}, "{heads=2, kv_heads=2}"),
      HasSubstr("inputs 3 and 4"));
  EXPECT_THAT(
      refusal("attention", {"f32[4,24]", "_", "_", "i32[3]", "i32[3]", "_", "_", "_", "f32[2,8]"},
              "{heads=2, kv_heads=2}"),
      HasSubstr("the bias must be f32[2, an odd number of distances]"));
  EXPECT_THAT(refusal("linear_cross_entropy", {"f32[3,4]", "f32[9,5]", "i32[3]", "f32[]"}),
              HasSubstr("inner sizes"));
  EXPECT_THAT(refusal("linear_cross_entropy",
                      {"f32[3,4]", "f32[9,4]", "i32[3]", "f32[]", "f32[9,4]", "f32[8]"},
                      "{dw=true, dx=true}"),
              HasSubstr("f32[9]"));
  EXPECT_THAT(refusal("adamw", {"f32[3]", "f32[3]", "f32[3]", "f32[3]", "f64[]", "i64[]", "f64[]"},
                      "{count=2, beta1=0.9, beta2=0.999, eps=1e-08}"),
              HasSubstr("takes 11 inputs"));
}

TEST(Ops, HelpersLeaveNothingToDo) {
  Program p(op_table());
  Builder b(p);
  ValueId x = p.add_input("x", {DType::f32, {2, 3}});
  EXPECT_EQ(ops::reshape(b, x, {2, 3}), x);
  EXPECT_EQ(ops::cast(b, x, DType::f32), x);
  EXPECT_EQ(ops::activation(b, x, "none"), x);
  EXPECT_EQ(ops::dropout(b, x, kNoValue, kNoValue, kNoValue, 0, "k"), x);
  EXPECT_TRUE(p.nodes.empty());
}

TEST(Ops, LossOfScaleOneHandsOutItsGradients) {
  Program p(op_table());
  Builder b(p);
  ValueId x = p.add_input("x", {DType::f32, {3, 4}}), w = p.add_input("w", {DType::f32, {9, 4}});
  ValueId labels = p.add_input("labels", {DType::i32, {3}}),
          scale = p.add_input("scale", {DType::f32, {}});
  ops::CrossEntropy ce = ops::linear_cross_entropy(b, x, w, labels, scale, true);
  Node n = p.nodes.back();
  ValueId one = ops::constant(b, 1, {DType::f32, {}});
  Values g = n.op->grad(b, {p, n}, {one, kNoValue, kNoValue, kNoValue, kNoValue});
  EXPECT_EQ(g, (Values{ce.dx, ce.dw, kNoValue, kNoValue}));

  ValueId bias = p.add_input("bias", {DType::f32, {9}});
  ce = ops::linear_cross_entropy(b, x, w, labels, scale, true, 0, bias);
  n = p.nodes.back();
  g = n.op->grad(b, {p, n}, {one, kNoValue, kNoValue, kNoValue, kNoValue, kNoValue});
  EXPECT_EQ(g, (Values{ce.dx, ce.dw, kNoValue, kNoValue, kNoValue, ce.dbias}));

  // A gradient of nll makes the node again, with that gradient as weights.
  ce = ops::linear_cross_entropy(b, x, w, labels, scale, false, 0.1, bias);
  n = p.nodes.back();
  const ValueId by = p.add_input("by", {DType::f32, {3}});
  g = n.op->grad(b, {p, n}, {kNoValue, by, kNoValue});
  const Node& again = p.nodes.back();
  EXPECT_EQ(again.op->name, "linear_cross_entropy");
  EXPECT_EQ(again.in.back(), by);
  EXPECT_EQ(again.attrs.real("smoothing"), 0.1);
  EXPECT_EQ(g, (Values{again.out[4], again.out[3], kNoValue, kNoValue, kNoValue, again.out[5]}));
}

TEST(Ops, ViewsAndInPlacePairs) {
  Program p(op_table());
  Builder b(p);
  ValueId x = p.add_input("x", {DType::f32, {4, 3}});
  ops::slice(b, x, 0, 2, 4);
  ops::slice(b, x, 1, 2, 3);
  EXPECT_EQ(p.nodes[0].op->view_offset({p, p.nodes[0]}), 2 * 3 * 4);
  EXPECT_EQ(p.nodes[1].op->view_offset({p, p.nodes[1]}), -1);
  ValueId lr = p.add_input("lr", {DType::f64, {}}), step = p.add_input("step", {DType::i64, {}});
  ops::update(b, "adamw", {{x, x}, {x, x}, {x, x, x, x}, lr, step, lr, {}},
              {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}});
  const Node& n = p.nodes.back();
  std::vector<size_t> over;
  for (size_t k = 0; k < n.out.size(); ++k) over.push_back(*inplace_inputs({p, n}, k).begin());
  EXPECT_THAT(over, testing::ElementsAre(0, 1, 4, 5, 6, 7));
}

TEST(Ops, CostOfAProduct) {
  Program p(op_table());
  Builder b(p);
  ValueId x = p.add_input("x", {DType::f32, {4, 3}}), y = p.add_input("y", {DType::f32, {3, 5}});
  ops::matmul(b, x, y);
  Cost c = cost_of({p, p.nodes.back()});
  EXPECT_EQ(c.flops, 2.0 * 4 * 3 * 5);
  EXPECT_EQ(c.bytes, 4.0 * (12 + 15 + 20));
}

}  // namespace
}  // namespace hone
