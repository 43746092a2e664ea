#include "learn/harness/budget/memory_copies.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

constexpr int64_t kMebibyte = 1 << 20;

TEST(MemoryCopies, AreTheStatesOfARankTwiceOnEachMachine) {
  RunPlan plan;
  const Type type{DType::f32, {512, 512}};
  plan.states = {{"w", type, Role::param}, {"m", type, Role::moment}, {"v", type, Role::moment}};
  TrainSettings s;
  EXPECT_FALSE(memory_copies(s, plan, {"w"}, 4, 2));
  s.memory_save_steps = 1;
  s.save_only_model = true;  // of checkpoints alone
  const MemoryCopies shared = memory_copies(s, plan, {"w"}, 4, 2).value();
  EXPECT_EQ(shared.part, 3 * kMebibyte / 4) << "each rank writes a share";
  EXPECT_EQ(shared.bytes(), 3 * kMebibyte);
  EXPECT_EQ(shared.sent(), shared.part);

  // A quarter of each moment is here.
  for (StateSlot& state : plan.states)
    if (state.role == Role::moment) {
      state.type.shape = {128, 512};
      state.shard = {state.name, 384, 512, {384, 512}};
    }
  const MemoryCopies cut = memory_copies(s, plan, {"w"}, 4, 2).value();
  EXPECT_EQ(cut.part, 3 * kMebibyte / 4) << "states that are cut are not divided again";
  const MemoryCopies here = memory_copies(s, plan, {"w"}, 4, 1).value();
  EXPECT_EQ(here.bytes(), 2 * cut.part);
  EXPECT_EQ(here.sent(), 0);
  s.memory_save_hosts = 3;
  EXPECT_EQ(memory_copies(s, plan, {"w"}, 4, 8)->sent(), 2 * cut.part);
  s.memory_save_hosts = 1;
  EXPECT_EQ(memory_copies(s, plan, {"w"}, 4, 8)->sent(), 0);
}

}  // namespace
}  // namespace hone
