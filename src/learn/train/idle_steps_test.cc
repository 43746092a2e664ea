#include "learn/train/idle_steps.h"

#include <gtest/gtest.h>

#include "learn/train/errors.h"

namespace hone {
namespace {

// The step at which a run of these losses (null: no label) stops; 0: at none.
int64_t stops_at(const std::vector<std::optional<double>>& losses, const TrainSettings& s = {}) {
  IdleSteps idle;
  const int64_t total = std::ssize(losses);
  for (int64_t step = 1; step <= total; ++step) {
    const Status status = idle.add(s, losses[static_cast<size_t>(step - 1)], step, total);
    if (status.ok()) continue;
    EXPECT_STREQ(status.error().code(), err::kNothingLearnt.id);
    return step;
  }
  return 0;
}

TEST(IdleSteps, StopARunThatLearnsNothing) {
  const std::vector<std::optional<double>> zeros(30, 0.0), none(30);
  EXPECT_EQ(stops_at(zeros), IdleSteps::kMost);
  EXPECT_EQ(stops_at(none), IdleSteps::kMost);
  EXPECT_EQ(stops_at({0.0, 0.0}), 2);
  EXPECT_EQ(stops_at({0.0}), 0);
  EXPECT_EQ(stops_at(std::vector<std::optional<double>>(5)), 5);
  EXPECT_EQ(stops_at(std::vector<std::optional<double>>(4)), 0);
  EXPECT_EQ(stops_at({0.0, 1e-30, 0.0}), 0);
  std::vector<std::optional<double>> some(none);
  for (size_t i = 0; i < some.size(); i += 5) some[i] = 1;
  EXPECT_EQ(stops_at(some), 0);
  TrainSettings allowed;
  allowed.allow = {kAllowZeroLoss};
  EXPECT_EQ(stops_at(zeros, allowed), 0);
  EXPECT_EQ(stops_at(none, allowed), IdleSteps::kMost);
  allowed.allow = {kAllowNoLabels};
  EXPECT_EQ(stops_at(none, allowed), 0);
}

}  // namespace
}  // namespace hone
