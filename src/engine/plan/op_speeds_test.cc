// Seconds of nodes by their kind.
#include "engine/plan/op_speeds.h"

#include <gtest/gtest.h>

#include "engine/graph/text.h"
#include "engine/ops/ops.h"
#include "engine/plan/cost_model.h"

namespace hone {
namespace {

Program speeds_program(const std::string& text) {
  return std::move(parse_program("program p\n" + text, op_table()).value());
}

const char* const kNodes = R"(input "x" %0 : f32[64,64]
input "w" %1 : f32[64,64]
input "b" %2 : f32[64]
  %3 : f32[64,64] = linear(%0, %1, %2) {act="gelu", trans_w=true}
  %4 : f32[64,64] = matmul(%3, %1) {bf16=true, trans_x=true}
  %5 : f32[64,64] = gelu(%4)
  %6 : f32[32,128] = reshape(%5) {shape=[32, 128]}
output "y" = %6
)";

TEST(OpSpeeds, KindsSayWhatChangesTheSpeed) {
  const Program p = speeds_program(kNodes);
  EXPECT_EQ(OpSpeeds::kind_of({p, p.nodes[0]}), "matmul.nt");
  EXPECT_EQ(OpSpeeds::kind_of({p, p.nodes[1]}), "matmul.tn.bf16");
  EXPECT_EQ(OpSpeeds::kind_of({p, p.nodes[2]}), "gelu");
}

TEST(OpSpeeds, FlopAndBytesAddUp) {
  const KindSpeed s{1e-9, 1e-8, 3e-8};
  EXPECT_DOUBLE_EQ(s.seconds({100, 0}), 1e-7);
  EXPECT_DOUBLE_EQ(s.seconds({0, kNearBytes}), kNearBytes * 1e-8);
  EXPECT_DOUBLE_EQ(s.seconds({0, 2 * kFarBytes}), 2 * kFarBytes * 3e-8);
  const double middle = std::sqrt(kNearBytes * kFarBytes);
  EXPECT_NEAR(s.seconds({0, middle}), middle * 2e-8, 1e-12) << "by the logarithm";
}

TEST(OpSpeeds, WhatIsNotMeasuredTakesTheTimeOfItsLike) {
  const Program p = speeds_program(kNodes);
  const NodeView linear{p, p.nodes[0]}, product{p, p.nodes[1]}, gelu{p, p.nodes[2]},
      view{p, p.nodes[3]};
  OpSpeeds s;
  EXPECT_EQ(s.seconds_of(gelu), 0) << "nothing is known";
  s.set("add", {0, 1e-9, 1e-9});
  const double bytes = 2 * 64 * 64 * 4;
  EXPECT_DOUBLE_EQ(s.seconds_of(gelu), bytes * 1e-9);
  EXPECT_EQ(s.seconds_of(view), 0);
  s.set("matmul.nn.bf16", {1e-12, 0, 0});
  const double flops = 2.0 * 64 * 64 * 64;
  EXPECT_DOUBLE_EQ(s.seconds_of(product), flops * 1e-12);
  s.set("matmul.tn.bf16", {3e-12, 0, 0});
  EXPECT_DOUBLE_EQ(s.seconds_of(product), flops * 3e-12);
  s.set("matmul.nt", {2e-12, 0, 0});
  EXPECT_DOUBLE_EQ(s.seconds_of(linear), flops * 2e-12) << "its activation is not measured";
  s.set("gelu", {0, 5e-9, 9e-9});
  EXPECT_DOUBLE_EQ(s.seconds_of(linear), flops * 2e-12 + bytes * 5e-9);
  EXPECT_DOUBLE_EQ(s.seconds_of(gelu), bytes * 5e-9);
  const Speeds speeds{.f32_flops = 1, .bytes_per_second = 1, .ops = &s};
  EXPECT_DOUBLE_EQ(seconds_of(gelu, speeds), bytes * 5e-9) << "it takes precedence";
}

TEST(OpSpeeds, JsonAndBack) {
  OpSpeeds s;
  s.set("gelu", {1e-12, 2e-10, 3e-10});
  const OrderedJson j = s.json();
  EXPECT_EQ(j.dump(), R"({"gelu":[1e-12,2e-10,3e-10]})");
  EXPECT_EQ(OpSpeeds::from_json(Json(j)).json(), j);
  const Json odd{{"a", {1, 2}}, {"b", {1, 2, "x"}}, {"c", {1, 2, -3}}, {"d", 5}, {"e", {1, 2, 3}}};
  EXPECT_EQ(OpSpeeds::from_json(odd).json().dump(), R"({"e":[1.0,2.0,3.0]})");
  EXPECT_TRUE(OpSpeeds::from_json(Json::array()).empty());
}

}  // namespace
}  // namespace hone
