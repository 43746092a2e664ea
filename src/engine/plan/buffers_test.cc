// Values that share storage: views, results in place, a state's old and new version.
#include "engine/plan/buffers.h"

#include <gtest/gtest.h>

#include "engine/graph/text.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"
#include "engine/plan/errors.h"
#include "engine/plan/plan.h"

namespace hone {
namespace {

Program parsed(const std::string& text) {
  Result<Program> p = parse_program(text, op_table());
  if (!p) throw std::runtime_error(p.error().text());
  Status ok = verify(*p);
  if (!ok) throw std::runtime_error(ok.error().text());
  return std::move(*p);
}

bool together(const Buffers& b, ValueId x, ValueId y) {
  return b.of[static_cast<size_t>(x)].buffer == b.of[static_cast<size_t>(y)].buffer;
}

TEST(Buffers, ViewsLieInTheirOperand) {
  const Buffers b = share_storage(parsed(R"(
input "x" %0 : f32[4,8]
  %1 : f32[32] = reshape(%0) {shape=[32]}
  %2 : f32[8] = slice(%1) {axis=0, begin=16, end=24}
  %3 : f32[8] = exp(%2)
output "y" = %3
)"));
  EXPECT_TRUE(together(b, 0, 1));
  EXPECT_TRUE(together(b, 0, 2));
  EXPECT_EQ(b.of[2].offset, 64);
  EXPECT_FALSE(together(b, 2, 3)) << "an input is not written over";
}

TEST(Buffers, ResultsTakeADyingOperandsPlace) {
  const Buffers b = share_storage(parsed(R"(
input "x" %0 : f32[8]
  %1 : f32[8] = exp(%0)
  %2 : f32[8] = neg(%1)
  %3 : f32[8] = add(%2, %1)
output "y" = %3
)"));
  EXPECT_FALSE(together(b, 0, 1));
  EXPECT_FALSE(together(b, 1, 2)) << "%1 is read again";
  EXPECT_TRUE(together(b, 3, 2) || together(b, 3, 1));
}

TEST(Buffers, NewVersionTakesTheOldOnesPlace) {
  const Buffers b = share_storage(parsed(R"(
input "dy" %0 : f32[8]
state "g" %1 : f32[8] {role="grad"}
  %2 : f32[8] = exp(%0)
  %3 : f32[8] = add(%1, %2)
next %1 = %3
)"));
  EXPECT_TRUE(together(b, 1, 3));
}

// dx could be written over dy too, but then the old version, which the node reads, could not give its
// place.
TEST(Buffers, NewVersionPrefersTheOldOnesPlaceToThatOfADyingOperand) {
  const Buffers b = share_storage(parsed(R"(
input "x" %0 : f32[4,8]
input "gamma" %1 : f32[8]
input "row" %2 : f32[4]
state "g" %3 : f32[4,8] {role="grad"}
  %4 : f32[4,8] = exp(%0)
  %5 : f32[4,8], %6 : f32[8], %7 : f32[8] = layer_norm_grad(%0, %1, %2, %2, %4, %3)
next %3 = %5
output "dgamma" = %6
output "dbeta" = %7
)"));
  EXPECT_TRUE(together(b, 3, 5));
  EXPECT_FALSE(together(b, 4, 5));
}

TEST(Buffers, NewVersionMayBeginAsTheOldOneInAnotherShape) {
  const Buffers b = share_storage(parsed(R"(
input "x" %0 : f32[8]
state "cache" %1 : f32[2,4] {role="cache"}
  %2 : f32[8] = reshape(%1) {shape=[8]}
  %3 : f32[8] = add(%2, %0)
  %4 : f32[2,4] = reshape(%3) {shape=[2,4]}
  %5 : f32[2,4] = exp(%4)
next %1 = %4
output "y" = %5
)"));
  EXPECT_TRUE(together(b, 1, 4));
  EXPECT_FALSE(together(b, 4, 5)) << "a state outlives the program";
}

TEST(Plan, StatesOfAllProgramsAreShared) {
  const Program first = parsed(
      "program a\nstate \"w\" %0 : f32[100] {role=\"param\"}\ninput \"x\" %1 : f32[100]\n  %2 : "
      "f32[100] = mul(%0, %1)\noutput \"y\" = %2\n");
  const Program second = parsed(
      "program b\nstate \"v\" %0 : f32[7] {role=\"moment\"}\nstate \"w\" %1 : f32[100] "
      "{role=\"param\"}\n  %2 : f32[100] = neg(%1)\noutput \"y\" = %2\n");
  const std::vector<PlanInput> inputs{{&first, {0}}, {&second, {4096}}};
  const RunPlan plan = plan_run(inputs).value();
  ASSERT_EQ(plan.states.size(), 2u);
  EXPECT_EQ(plan.state_bytes[Space::device], 448 + 64);
  EXPECT_EQ(plan.programs[0].offset[0], plan.programs[1].offset[1]);
  EXPECT_EQ(plan.program_bytes[Space::device],
            std::max(plan.programs[0].transient_bytes[Space::device],
                     plan.programs[1].transient_bytes[Space::device]));
  EXPECT_EQ(plan.programs[1].workspace_bytes, 4096);
  EXPECT_EQ(plan.arena_bytes() % kArenaAlignment, 0);
  int64_t sum = 0;
  for (const auto& [purpose, bytes] : plan.by_purpose()) sum += bytes;
  EXPECT_EQ(sum, plan.arena_bytes());
}

// A weight that the step rewrites at its end is not copied for its readers before.
TEST(Buffers, ViewsOfARewrittenStateMayBeReadBefore) {
  const Buffers b = share_storage(parsed(R"(
input "x" %0 : f32[4]
state "w" %1 : f32[8] {role="param"}
  %2 : f32[4] = slice(%1) {axis=0, begin=4, end=8}
  %3 : f32[4] = add(%0, %2)
  %4 : f32[4] = slice(%1) {axis=0, begin=0, end=4}
  %5 : f32[8] = exp(%1)
  %6 : f32[4] = add(%3, %4)
next %1 = %5
output "y" = %6
)"));
  EXPECT_TRUE(together(b, 1, 2));
  EXPECT_FALSE(together(b, 1, 4)) << "it is read after the new version was written";
  EXPECT_TRUE(together(b, 1, 5));
}

// Gradients live while a step is computed, the cache while texts are written; weights always.
TEST(Plan, StatesOfAPhaseHoldNoMemoryOutsideOfIt) {
  const Program step = parsed(
      "program step\nstate \"w\" %0 : f32[1024] {role=\"param\"}\nstate \"g\" %1 : f32[1024] "
      "{role=\"grad\"}\n  %2 : f32[1024] = exp(%0)\nnext %1 = %2\n");
  const Program decode = parsed(
      "program decode\nstate \"w\" %0 : f32[1024] {role=\"param\"}\nstate \"k\" %1 : f32[2048] "
      "{role=\"cache\"}\n  %2 : f32[2048] = neg(%1)\nnext %1 = %2\n");
  const Program eval = parsed(
      "program eval\nstate \"w\" %0 : f32[1024] {role=\"param\"}\n  %1 : f32[1024] = neg(%0)\n"
      "output \"y\" = %1\n");
  const std::vector<PlanInput> inputs{{&step, {0}}, {&decode, {0}}, {&eval, {0}}};
  const RunPlan plan = plan_run(inputs).value();
  EXPECT_EQ(plan.state_bytes[Space::device], 4096);
  EXPECT_EQ(plan.programs[0].phase_bytes[Space::device], 4096);
  EXPECT_EQ(plan.programs[1].phase_bytes[Space::device], 8192);
  EXPECT_EQ(plan.programs[2].phase_bytes[Space::device], 0);
  EXPECT_EQ(plan.states[1].offset, plan.states[2].offset) << "g and k take turns";
  EXPECT_EQ(plan.programs[2].offset[1], 4096) << "and so do they with values";
  EXPECT_EQ(plan.used_bytes(), 4096 + 8192);
  std::map<std::string, int64_t> purposes = plan.by_purpose();
  EXPECT_EQ(purposes["kv_cache"], 8192);
  EXPECT_EQ(purposes["gradients"], 0);
  int64_t sum = 0;
  for (const auto& [purpose, bytes] : purposes) sum += bytes;
  EXPECT_EQ(sum, plan.arena_bytes());
}

// Three updates as offload makes them: what is brought and taken back is in use in between.
TEST(Plan, StatesElsewhereTakeNoMemoryButThatOfTheirCopies) {
  const Program step = parsed(R"(program step
state "m" %0 : f32[1024] {role="moment", home="disk"}
state "v" %1 : f32[1024] {role="moment", home="host"}
  %2 : f32[1024] = copy(%0) {to="device"} lane disk_read
  %3 : f32[1024] = wait(%2)
  %4 : f32[1024] = neg(%3)
  %5 : f32[1024] = copy(%1) {to="device"} lane load
  %6 : f32[1024] = copy(%4) {to="disk"} lane disk_write
  %7 : f32[1024] = wait(%5)
  %8 : f32[1024] = neg(%7)
  %9 : f32[1024] = copy(%8) {to="host"} lane store
  %10 : f32[1024] = wait(%9)
  %11 : f32[1024] = wait(%6)
next %0 = %11
next %1 = %10
)");
  const std::vector<PlanInput> inputs{{&step, {}}};
  const RunPlan plan = plan_run(inputs).value();
  EXPECT_EQ(plan.used_bytes(Space::device), 2 * 4096);
  EXPECT_EQ(plan.used_bytes(Space::host), 4096);
  EXPECT_EQ(plan.used_bytes(Space::disk), 4096);
  EXPECT_EQ(plan.arena_bytes(Space::disk), kArenaAlignment);
  const std::vector<int64_t>& at = plan.programs[0].offset;
  EXPECT_EQ(at[3], at[2]) << "a wait is a view";
  EXPECT_EQ(at[4], at[2]) << "written in place";
  EXPECT_NE(at[8], at[4]) << "it is on its way until the end";
  EXPECT_EQ(at[11], at[0]) << "the new version takes the old one's place";
  EXPECT_EQ(at[10], at[1]);
  std::map<std::string, int64_t> purposes = plan.by_purpose();
  EXPECT_EQ(purposes["staging"], 2 * 4096);
  EXPECT_EQ(purposes["moments"], 0);
}

// A kernel of the host: what it reads and writes, and its scratch, is in use until its first wait;
// a state is written over where it is.
TEST(Plan, KernelsOfTheHostUseItsMemoryUntilTheirWait) {
  const Program update = parsed(R"(program update
input "lr" %0 : f64[]
input "step" %1 : i64[]
input "g" %2 : f32[1024]
state "w" %3 : f32[1024] {role="param", home="host"}
state "m" %4 : f32[1024] {role="moment", home="host"}
  %5 : f32[1024] = copy(%2) {to="host"} lane store
  %6 : f64[] = copy(%0) {to="host"} lane store
  %7 : i64[] = copy(%1) {to="host"} lane store
  %8 : f32[1024] = wait(%5)
  %9 : f64[] = wait(%6)
  %10 : i64[] = wait(%7)
  %11 : f32[1024], %12 : f32[1024] = lion(%3, %8, %4, %9, %10, %9) {beta1=0.9, beta2=0.99, count=1} lane host_compute
  %13 : f32[1024] = copy(%2) {to="host"} lane store
  %14 : f32[1024] = wait(%13)
  %15 : f32[1024] = wait(%11)
  %16 : f32[1024] = wait(%12)
next %3 = %15
next %4 = %16
)");
  ASSERT_TRUE(verify(update).ok()) << verify(update).error().text();
  std::vector<int64_t> scratch(update.nodes.size(), 0);
  scratch[6] = 640;
  const std::vector<PlanInput> inputs{{&update, scratch}};
  const RunPlan plan = plan_run(inputs).value();
  const std::vector<int64_t>& at = plan.programs[0].offset;
  EXPECT_EQ(at[11], at[3]);
  EXPECT_EQ(at[15], at[3]);
  EXPECT_EQ(at[12], at[4]);
  EXPECT_NE(at[13], at[5]) << "the kernel may still read the gradient";
  EXPECT_EQ(plan.used_bytes(Space::host), 4 * 4096 + 2 * 64 + 640);
  EXPECT_GE(plan.programs[0].workspace_offset[6], 2 * 4096);
  EXPECT_EQ(plan.used_bytes(Space::device), 4096 + 2 * 64);
}

TEST(Plan, StatesOfOneNameMustAgree) {
  const Program first = parsed("program a\nstate \"w\" %0 : f32[100] {role=\"param\"}\n");
  const Program second = parsed("program b\nstate \"w\" %0 : f32[99] {role=\"param\"}\n");
  const std::vector<PlanInput> inputs{{&first, {}}, {&second, {}}};
  Result<RunPlan> plan = plan_run(inputs);
  ASSERT_FALSE(plan.ok());
  EXPECT_STREQ(plan.error().code(), err::kStateMismatch.id);
  const Program third =
      parsed("program c\nstate \"w\" %0 : f32[100] {role=\"moment\", home=\"disk\"}\n");
  const std::vector<PlanInput> moved{{&first, {}}, {&third, {}}};
  plan = plan_run(moved);
  ASSERT_FALSE(plan.ok());
  EXPECT_EQ(plan.error().what(), "state 'w' is on device in one program and on disk in 'c'");
}

}  // namespace
}  // namespace hone
