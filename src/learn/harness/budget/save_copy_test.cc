// When a checkpoint has a copy of its own.
#include "learn/harness/budget/save_copy.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

constexpr int64_t kCopyMiB = 1 << 20;

// A weight of 1 MiB with moments of 2 MiB, and a weight that is not saved.
RunPlan plan_to_copy(Space moments = Space::device) {
  RunPlan plan;
  const Type type{DType::f32, {512, 512}};
  plan.states = {{"w", type, Role::param},
                 {"m", type, Role::moment, 0, moments},
                 {"v", type, Role::moment, 0, moments},
                 {"base", type, Role::param}};
  plan.state_bytes[Space::device] = 4 * kCopyMiB;
  return plan;
}

TrainSettings with_limit() {
  TrainSettings s;
  s.host_memory = ByteSize{1 << 30};
  return s;
}

SaveCopy copy_of(const TrainSettings& s, int64_t room, const RunPlan& plan = plan_to_copy()) {
  const ArenaLimits limits{.device = needs_of(plan, {}, {.shared = true}).device + room,
                           .shared = true};
  return plan_save_copy(s, plan, {"w"}, {}, limits);
}

TEST(SaveCopy, HoldsWhatIsSavedWhereThereIsRoom) {
  const TrainSettings s = with_limit();
  EXPECT_EQ(copy_of(s, 3 * kCopyMiB).bytes(), 3 * kCopyMiB);
  const SaveCopy none = copy_of(s, 3 * kCopyMiB - 1);
  EXPECT_EQ(none.needed, 3 * kCopyMiB);
  EXPECT_EQ(none.bytes(), 0);
}

TEST(SaveCopy, TakesHalfOfMemoryThatNoFlagLimits) {
  TrainSettings s = with_limit();
  s.host_memory.reset();
  EXPECT_EQ(copy_of(s, 6 * kCopyMiB).bytes(), 3 * kCopyMiB);
  EXPECT_EQ(copy_of(s, 6 * kCopyMiB - 2).bytes(), 0);
}

TEST(SaveCopy, LeavesMomentsWithoutAnyOut) {
  TrainSettings s = with_limit();
  s.save_only_model = true;
  EXPECT_EQ(copy_of(s, 9 * kCopyMiB).needed, kCopyMiB);
}

TEST(SaveCopy, IsNotMadeOfWhatIsOnDisk) {
  EXPECT_EQ(copy_of(with_limit(), 9 * kCopyMiB, plan_to_copy(Space::disk)).needed, 0);
}

}  // namespace
}  // namespace hone
