// The text of programs; no plug-in is needed.
#include "engine/backends/xla/stablehlo.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "engine/backends/xla/compile_options.h"
#include "engine/backends/xla/write_ops.h"
#include "engine/device/errors.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone::xla {
namespace {

using testing::HasSubstr;

Program text_program(const char* text) {
  return std::move(parse_program(text, op_table()).value());
}

TEST(StableHlo, AStepIsOneModuleThatDonatesItsStates) {
  const Program p = text_program(R"(program step
input "x" %0 : f32[4,2]
state "w" %1 : f32[2,2] {role="param", trainable=true}
state "v" %2 : f32[2,2] {role="param", trainable=true}
  %3 : f32[4,2] = matmul(%0, %1) {trans_y=true, bf16=true}
  %4 : f32[2,2] = mul(%1, %2)
next %1 = %4
output "y" = %3
output "again" = %3
)");
  const ModuleText m = write_module(p);
  EXPECT_EQ(m.outputs.size(), 1u);
  EXPECT_EQ(m.written, std::vector<size_t>{0});
  EXPECT_EQ(m.text, R"(module @hone {
  func.func public @main(%arg0: tensor<4x2xf32>, %arg1: tensor<2x2xf32> {tf.aliasing_output = 1 : i32}, %arg2: tensor<2x2xf32>) -> (tensor<4x2xf32>, tensor<2x2xf32>) {
    %0 = stablehlo.reduce_precision %arg0, format = e8m7 : tensor<4x2xf32>
    %1 = stablehlo.convert %0 : (tensor<4x2xf32>) -> tensor<4x2xbf16>
    %2 = stablehlo.reduce_precision %arg1, format = e8m7 : tensor<2x2xf32>
    %3 = stablehlo.convert %2 : (tensor<2x2xf32>) -> tensor<2x2xbf16>
    %4 = stablehlo.dot_general %1, %3, contracting_dims = [1] x [1], precision = [HIGHEST, HIGHEST] : (tensor<4x2xbf16>, tensor<2x2xbf16>) -> tensor<4x2xf32>
    %5 = stablehlo.multiply %arg1, %arg2 : tensor<2x2xf32>
    return %4, %5 : tensor<4x2xf32>, tensor<2x2xf32>
  }
}
)");
}

size_t functions_of(const std::string& module) {
  size_t count = 0;
  for (size_t at = 0; (at = module.find("func.func private", at)) != module.npos; ++at) ++count;
  return count;
}

TEST(StableHlo, LayersThatDrawNumbersShareOneFunction) {
  const Program p = text_program(R"(program masks
input "rng" %0 : i64[2]
input "samples" %1 : i64[3]
input "positions" %2 : i32[3]
  %3 : bool[3,70] = dropout_mask(%0, %1, %2) {p=0.1, channels=70, key="h.0"}
  %4 : bool[3,70] = dropout_mask(%0, %1, %2) {p=0.1, channels=70, key="h.1"}
output "a" = %3
output "b" = %4
)");
  const std::string text = write_module(p).text;
  EXPECT_EQ(functions_of(text), 2u) << "Philox for the keys, and for the words of a mask";
  const std::regex call("call @philox");
  EXPECT_EQ(std::distance(std::sregex_iterator(text.begin(), text.end(), call), {}), 2)
      << "one call for the keys of all masks, and one in the loop over the masks";
}

TEST(StableHlo, TheNumberOfLayersInALoopIsAVariable) {
  EXPECT_EQ(fewest_loop_layers().value(), kFewestLoopLayers);
  for (const char* wrong : {"1", "x", "2x", "-3"}) {
    setenv("HONE_XLA_LOOPS", wrong, 1);
    EXPECT_FALSE(fewest_loop_layers().ok()) << wrong;
  }
  setenv("HONE_XLA_LOOPS", "12", 1);
  EXPECT_EQ(fewest_loop_layers().value(), 12);
  unsetenv("HONE_XLA_LOOPS");
}

TEST(StableHlo, LayersShareTheirCodeOnTpusAndSumsAreMadeApart) {
  for (const std::string flag :
       {"xla_tpu_enable_deduplicated_calls", "xla_jf_crs_combiner_threshold_in_bytes"}) {
    EXPECT_THAT(compile_options({.tpu = true}), HasSubstr(flag));
    EXPECT_THAT(compile_options({.replicas = 8, .tpu = true}), HasSubstr(flag));
    EXPECT_THAT(compile_options({.replicas = 8}), testing::Not(HasSubstr(flag)))
        << "other plug-ins do not know it";
  }
}

// Scores of all pairs would take 4 MiB a head.
TEST(StableHlo, AttentionIsWrittenInBlocksThatLayersShare) {
  const Program p = text_program(R"(program attention
input "x" %0 : f32[1000,48]
input "cu" %1 : i32[3]
input "rng" %2 : i64[2]
input "samples" %3 : i64[1000]
  %4 : f32[1000,16], %5 : f32[2,1000] = attention(%0, _, _, %1, %1, _, %2, %3) {heads=2, kv_heads=2, causal=true, dropout=0.1, key="h.0"}
  %6 : f32[1000,48] = concat(%4, %4, %4) {axis=1}
  %7 : f32[1000,16], %8 : f32[2,1000] = attention(%6, _, _, %1, %1, _, %2, %3) {heads=2, kv_heads=2, causal=true, dropout=0.1, key="h.1"}
output "y" = %7
)");
  const std::string text = write_module(p).text;
  EXPECT_EQ(functions_of(text), 3u) << "attention, Philox for a key, and for the words of a mask";
  EXPECT_THAT(text, HasSubstr("2x256x256xf32"));
  EXPECT_THAT(text, testing::Not(HasSubstr("1000x1000")));
}

TEST(StableHlo, ValuesThatAreComputedAgainAreNotMerged) {
  const Program p = text_program(R"(program step
input "x" %0 : f32[4,2]
state "w" %1 : f32[4,2] {role="param", trainable=true}
  %2 : f32[4,2] = mul(%1, %0)
  %3 : f32[4,2] = exp(%2)
phase backward
  %4 : f32[4,2] = neg(%3)
  %5 : f32[4,2] = mul(%1, %0) clone
  %6 : f32[4,2] = exp(%5) clone
  %7 : f32[4,2] = mul(%6, %4)
output "y" = %7
)");
  const std::string text = write_module(p).text;
  EXPECT_THAT(text, HasSubstr("%3:2 = stablehlo.optimization_barrier %arg0, %2 : tensor<4x2xf32>, "
                              "tensor<4x2xf32>\n    %4 = stablehlo.multiply %arg1, %3#0 : "))
      << "of the input, once the gradient is there";
  EXPECT_THAT(text, HasSubstr("%5 = stablehlo.exponential %4 : ")) << "its operand is new already";
}

TEST(StableHlo, WeightsThatAreGatheredAgainAreNotKeptFromTheForwardPass) {
  Program p(op_table(), "step");
  Builder b(p);
  const ValueId x = p.add_input("x", {DType::f32, {4, 2}}),
                part = p.add_input("part", {DType::f32, {2, 2}});
  b.set_scope("weights.w");
  const auto gather = [&] { return ops::all_gather(b, {part}, {4}, {{0, 2}})[0]; };
  const ValueId y = ops::mul(b, x, gather());
  b.set_phase(Phase::backward);
  const ValueId g = ops::neg(b, y);
  p.outputs = {{"g", ops::mul(b, g, gather())}};
  const std::string text = write_module(p).text;
  const std::string gathers = "\"stablehlo.all_gather\"";
  const size_t first = text.find(gathers), gradient = text.find("stablehlo.negate"),
               apart = text.find("stablehlo.optimization_barrier %arg1, "),
               second = text.find(gathers, first + 1);
  ASSERT_NE(second, text.npos) << text;
  EXPECT_TRUE(first < gradient && gradient < apart && apart < second) << text;
  EXPECT_EQ(text.find("optimization_barrier", apart + 30), text.npos) << "one";
}

// Buckets of communication may reach over layers.
TEST(StableHlo, TensorsOfABucketAreGatheredWhereTheyAreReadAndSummedWhereTheyAreMade) {
  Program p(op_table(), "step");
  Builder b(p);
  const Type whole{DType::f32, {4, 2}}, part{DType::f32, {2, 2}};
  const ValueId x = p.add_input("x", whole);
  const std::vector<ValueId> parts{p.add_input("a", part), p.add_input("b", part)};
  const auto weights = ops::all_gather(b, parts, {4, 4}, {{0, 2}});
  const ValueId y = ops::mul(b, x, weights[0]);
  const ValueId z = ops::exp(b, y);
  const ValueId g = ops::neg(b, ops::mul(b, z, weights[1]));
  const auto sums = ops::reduce_scatter(b, {z, g}, {{0, 2}});
  p.outputs = {{"z", sums[0]}, {"g", sums[1]}};
  EXPECT_THAT(write_module(p).text,
              testing::ContainsRegex("all_gather.*\n.*multiply.*\n.*exponential.*\n"
                                     ".*reduce_scatter.*\n(.*\n){4}.*all_gather.*\n"
                                     ".*multiply.*\n.*negate.*\n.*reduce_scatter"));
}

TEST(StableHlo, TheRowsOfASumAreValuesOfTheirOwn) {
  Program p(op_table(), "step");
  Builder b(p);
  const ValueId x = p.add_input("x", {DType::f32, {4, 2}});
  p.outputs = {{"part", ops::reduce_scatter(b, {x}, {{0, 2}})[0]}};
  EXPECT_THAT(
      write_module(p).text,
      testing::ContainsRegex("%[0-9]+ = stablehlo.optimization_barrier %[0-9]+ : tensor<2x2xf32>\n"
                             " *return"));
}

// Rank 1 has a row more than rank 0 of `w`.
Program of_rank(int64_t rank, const std::string& nodes) {
  const std::string rows = rank == 0 ? "2" : "3", begin = rank == 0 ? "0" : "2",
                    end = rank == 0 ? "2" : "5";
  std::string text = "program update\ninput \"g\" %0 : f32[5,4]\nstate \"w\" %1 : f32[" + rows +
                     ",4] {role=\"param\", trainable=true}\n  %2 : f32[" + rows +
                     ",4] = slice(%0) {axis=0, begin=" + begin + ", end=" + end + "}\n" + nodes;
  for (size_t at = 0; (at = text.find("ROWS")) != text.npos;) text.replace(at, 4, rows);
  return text_program(text.c_str());
}

TEST(StableHlo, RanksWithOtherRowsShareAModule) {
  const std::string nodes =
      "  %3 : f32[ROWS,4] = sub(%1, %2)\n  %4 : f32[4] = reduce_sum(%2) {axes=[0]}\n"
      "next %1 = %3\noutput \"sum\" = %4\n";
  const Program a = of_rank(0, nodes), b = of_rank(1, nodes);
  const std::vector<const Program*> ranks{&a, &b};
  const ModuleText m = write_replicas(ranks).value();
  EXPECT_EQ(m.states[0].text(), "f32[3,4]") << "as the rank with most rows";
  EXPECT_THAT(m.text, HasSubstr("stablehlo.dynamic_slice"));
  EXPECT_THAT(m.text, HasSubstr("stablehlo.iota dim = 0"))
      << "sums leave out rows that mean nothing";
}

TEST(StableHlo, OpsThatMixRowsOfOtherNumbersAreRefusedByName) {
  const std::string nodes =
      "  %3 : f32[4,ROWS] = transpose(%2) {permutation=[1,0]}\noutput \"t\" = %3\n";
  const Program a = of_rank(0, nodes), b = of_rank(1, nodes);
  const std::vector<const Program*> ranks{&a, &b};
  const auto refused = write_replicas(ranks);
  ASSERT_FALSE(refused.ok());
  EXPECT_STREQ(refused.error().code(), hone::err::kDeclined.id);
}

TEST(StableHlo, RanksWithOtherOpsAreRefusedByName) {
  const Program a = of_rank(0, "  %3 : f32[ROWS,4] = neg(%1)\nnext %1 = %3\n"),
                b = of_rank(1, "  %3 : f32[ROWS,4] = exp(%1)\nnext %1 = %3\n");
  const std::vector<const Program*> ranks{&a, &b};
  const auto refused = write_replicas(ranks);
  ASSERT_FALSE(refused.ok());
  EXPECT_THAT(refused.error().what(), HasSubstr("node 1 is neg and exp"));
}

// Collectives are refused by name.
TEST(StableHlo, EveryPrimitiveIsWritten) {
  for (const Op* op : op_table().all()) {
    if (!op->decompositions.empty() || op->traffic != nullptr) continue;
    EXPECT_NE(writer_of(*op), nullptr) << op->name;
  }
}

}  // namespace
}  // namespace hone::xla
