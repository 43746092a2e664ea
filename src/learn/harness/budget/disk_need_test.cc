// The disk space of a run, and the limit that makes it fit.
#include "learn/harness/budget/disk_need.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "learn/harness/budget/errors.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Weights of 1 MiB, moments of 2 MiB.
RunPlan small_plan() {
  RunPlan plan;
  const Type type{DType::f32, {512, 512}};
  plan.states = {{"w", type, Role::param}, {"m", type, Role::moment}, {"v", type, Role::moment}};
  return plan;
}
constexpr int64_t kMiB = 1 << 20;

TEST(DiskNeed, CountsWhatIsThereAtATime) {
  TrainSettings s;
  s.save_steps = 100;
  DiskNeed need = disk_need(s, small_plan(), {"w"}, 1000, 3);
  EXPECT_EQ(need.model_bytes, kMiB);
  EXPECT_EQ(need.checkpoint_bytes, 3 * kMiB);
  EXPECT_EQ(need.checkpoints, 10);
  EXPECT_EQ(need.bytes(), 31 * kMiB);
  s.save_total_limit = 2;
  EXPECT_EQ(disk_need(s, small_plan(), {"w"}, 1000, 3).checkpoints, 3)
      << "one more while it is written";
  s.save_only_model = true;
  EXPECT_EQ(disk_need(s, small_plan(), {"w"}, 1000, 3).checkpoint_bytes, kMiB);
  s.save_total_limit.reset();
  s.save_steps = 0.5;
  EXPECT_EQ(disk_need(s, small_plan(), {"w"}, 1000, 3).checkpoints, 2) << "a share of all steps";
  s.save_strategy = "epoch";
  EXPECT_EQ(disk_need(s, small_plan(), {"w"}, 1000, 2.5).checkpoints, 3);
  s.save_strategy = "no";
  EXPECT_EQ(disk_need(s, small_plan(), {"w"}, 1000, 3).checkpoints, 0);
  RunPlan offloads = small_plan();
  offloads.state_bytes[Space::disk] = 2 * kMiB;
  EXPECT_EQ(disk_need(s, offloads, {"w"}, 1, 1).offload_bytes, 2 * kMiB);
  s.offload_optimizer_nvme_path = "/other";
  EXPECT_EQ(disk_need(s, offloads, {"w"}, 1, 1).offload_bytes, 0);
}

TEST(DiskNeed, CountsThePartsOfOtherRanks) {
  TrainSettings s;
  s.save_steps = 100;
  RunPlan plan = small_plan();
  plan.states[0] = {.name = "w", .type = {DType::f32, {512, 512}}, .role = Role::param};
  // A quarter of each moment is here, of one in two states.
  const auto part = [](const char* name, const char* tensor, int64_t begin, int64_t rows) {
    return StateSlot{.name = name,
                     .type = {DType::f32, {rows, 512}},
                     .role = Role::moment,
                     .shard = {tensor, begin, 512, {384, 512}}};
  };
  plan.states[1] = part("m[384:512]", "m", 384, 128);
  plan.states[2] = part("v[384:448]", "v", 384, 64);
  plan.states.push_back(part("v[448:512]", "v", 448, 64));
  const DiskNeed need = disk_need(s, plan, {"w"}, 1000, 3);
  EXPECT_EQ(need.model_bytes, kMiB);
  EXPECT_EQ(need.checkpoint_bytes, 3 * kMiB);
}

TEST(DiskNeed, LeavesOutWeightsThatAreNotSaved) {
  RunPlan adapted = small_plan();
  adapted.states.push_back({"base", {DType::f32, {4096, 4096}}, Role::param});
  const DiskNeed need = disk_need({}, adapted, {"w"}, 1000, 3);
  EXPECT_EQ(need.model_bytes, kMiB);
  EXPECT_EQ(need.checkpoint_bytes, 3 * kMiB);
}

TEST(DiskNeed, NamesTheLimitThatFits) {
  TrainSettings s;
  s.save_steps = 100;
  const DiskNeed need = disk_need(s, small_plan(), {"w"}, 1000, 3);
  EXPECT_TRUE(check_disk_need(s, need, 31 * kMiB, 0).ok());
  const Status refused = check_disk_need(s, need, 20 * kMiB, 0);
  ASSERT_FALSE(refused.ok());
  EXPECT_STREQ(refused.error().code(), err::kDiskTooSmall.id);
  EXPECT_THAT(refused.error().text(), HasSubstr("--save_total_limit 5 fits"));
  s.save_total_limit = 5;
  EXPECT_TRUE(check_disk_need(s, disk_need(s, small_plan(), {"w"}, 1000, 3), 20 * kMiB, 0).ok());
  s.save_total_limit = 6;
  EXPECT_FALSE(check_disk_need(s, disk_need(s, small_plan(), {"w"}, 1000, 3), 20 * kMiB, 0).ok());
  EXPECT_THAT(check_disk_need(s, need, 5 * kMiB, 0).error().text(), HasSubstr("another disk"));
  EXPECT_TRUE(check_disk_need(s, need, 20 * kMiB, 4).ok()) << "four of the ten are there";
}

}  // namespace
}  // namespace hone
