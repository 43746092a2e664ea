// Rates against Transformers' get_scheduler (tests/goldens/learn_train/schedules.json, made again
// by tools/golden_schedules.py) and DeepSpeed's (deepspeed_schedules.json, by
// tools/golden_deepspeed_schedules.py), and what is refused.
#include "learn/train/schedule.h"

#include <gtest/gtest.h>

#include <fstream>
#include <set>

#include "learn/train/schedules/errors.h"

namespace hone {
namespace {

using nlohmann::json;

// Adds the names of the schedules to `types`.
void compare_rates(const std::string& file, std::set<std::string>& types) {
  const json golden = json::parse(
      std::ifstream(std::string(HONE_SOURCE_DIR) + "/tests/goldens/learn_train/" + file));
  for (const json& c : golden["cases"]) {
    SCOPED_TRACE(c["type"].get<std::string>() + " " + c["kwargs"].dump());
    types.insert(c["type"]);
    const double peak = golden["learning_rate"];
    Result<Schedule> s = Schedule::make({c["type"], peak, c["warmup"], c["total"], c["kwargs"]});
    ASSERT_TRUE(s.ok()) << s.error().text();
    for (size_t step = 0; step < c["rates"].size(); ++step)
      EXPECT_NEAR(s->rate(static_cast<int64_t>(step)), c["rates"][step].get<double>(), peak * 1e-12)
          << "step " << step;
  }
}

TEST(Schedule, RatesOfTransformersAndDeepSpeed) {
  std::set<std::string> types;
  compare_rates("schedules.json", types);
  compare_rates("deepspeed_schedules.json", types);
  for (const std::string& name : schedule_names())
    EXPECT_TRUE(types.contains(name) || find_schedule(name)->follows_evaluations) << name;
}

// As timm's --cooldown-epochs: the cosine of the steps before, then its last rate.
TEST(Schedule, CooldownKeepsTheLeastRate) {
  const auto with = [](int64_t total, json more) {
    more["min_lr"] = 1e-5;
    return Schedule::make({"cosine_with_min_lr", 1e-3, 3, total, std::move(more)}).value();
  };
  const Schedule plain = with(12, {});
  for (const json& cooldown : {json(4), json(0.25)}) {
    const Schedule s = with(16, {{"cooldown_steps", cooldown}});
    for (int64_t step = 0; step < 12; ++step) EXPECT_EQ(s.rate(step), plain.rate(step)) << step;
    for (int64_t step = 12; step <= 16; ++step) EXPECT_NEAR(s.rate(step), 1e-5, 1e-18) << step;
  }
  const Schedule only = with(7, {{"cooldown_steps", 9}});
  EXPECT_NEAR(only.rate(3), 1e-5, 1e-18);
}

TEST(Schedule, WarmupAsStepsOrShare) {
  EXPECT_EQ(resolve_warmup(7, 0.5, 100), 7);
  EXPECT_EQ(resolve_warmup(0, 0.05, 90), 5);
  EXPECT_EQ(resolve_warmup(0.1, 0, 101), 11);
  EXPECT_EQ(resolve_warmup(0, 0, 100), 0);
}

TEST(Schedule, WrongArgumentsAreRefused) {
  const std::vector<std::pair<std::string, json>> cases{
      {"linear", {{"power", 2}}},
      {"polynomial", {{"power", json::array()}}},
      {"cosine_with_min_lr", json::object()},
      {"cosine_with_min_lr", {{"min_lr", 1e-5}, {"min_lr_rate", 0.1}}},
      {"cosine_with_min_lr", {{"min_lr", 1e-5}, {"cooldown_steps", -1}}},
      {"warmup_stable_decay", json::object()},
      {"polynomial", {{"lr_end", 1.0}}},
      {"warmup_lr", {{"warmup_type", "cubic"}}},
      {"reduce_lr_on_plateau", {{"factor", 1.0}}},
      {"reduce_lr_on_plateau", {{"mode", "best"}}},
      {"warmup_lr", {{"total_num_steps", 10}}},
      {"sinus", json::object()}};
  for (const auto& [type, more] : cases) {
    Result<Schedule> s = Schedule::make({type, 1e-3, 0, 10, more});
    ASSERT_FALSE(s.ok()) << type << more.dump();
    EXPECT_STREQ(s.error().code(), err::kScheduleArgument.id);
  }
}

// A string where a number belongs is an error, not an exception in the middle of a run.
TEST(Schedule, TypesOfArguments) {
  EXPECT_FALSE(Schedule::make({"cosine", 1e-3, 0, 10, {{"num_cycles", "many"}}}).ok());
  EXPECT_FALSE(
      Schedule::make(
          {"warmup_stable_decay", 1e-3, 0, 10, {{"num_decay_steps", 3}, {"decay_type", 1}}})
          .ok());
  EXPECT_FALSE(
      Schedule::make(
          {"warmup_stable_decay", 1e-3, 0, 10, {{"num_decay_steps", 3}, {"decay_type", "sudden"}}})
          .ok());
}

}  // namespace
}  // namespace hone
