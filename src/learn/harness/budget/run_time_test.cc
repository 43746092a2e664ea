// The length, time and price of a run, and the limits on them.
#include "learn/harness/budget/run_time.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "base/core/log.h"
#include "base/settings/errors.h"
#include "base/store/store.h"
#include "engine/backends/backends.h"
#include "learn/harness/budget/errors.h"
#include "learn/harness/budget/machine_speeds.h"
#include "learn/train/run_ranks.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(MeanStep, TheFirstMicroBatchTheRestAndTheUpdate) {
  const StepTimes times{.first = {1, 2}, .more = {1.5, 3}, .update = 0.5};
  EXPECT_DOUBLE_EQ(mean_step_seconds(times, 1), 2.5) << "the largest shape";
  EXPECT_DOUBLE_EQ(mean_step_seconds(times, 3), 2 + 2 * 3 + 0.5);
  EXPECT_EQ(mean_step_seconds({}, 3), 0);
}

// A mean of two steps: one micro-batch of the small shape, and three of the large one.
TEST(MeanStep, SumsWhatItsProgramsTake) {
  const StepRuns runs{.first = {0.5, 0.5}, .more = {0, 1}};
  EXPECT_DOUBLE_EQ(runs.micro_batches(), 2);
  EXPECT_DOUBLE_EQ((StepTimes{.first = {1, 2}, .more = {1.5, 3}, .update = 0.5}).of(runs),
                   0.5 * 1 + 0.5 * 2 + 3 + 0.5);
}

TEST(RateText, HasNoPowerOfTen) {
  EXPECT_EQ(rate_text(26054.3), "26,054");
  EXPECT_EQ(rate_text(2731.4), "2,731");
  EXPECT_EQ(rate_text(1234567.8), "1,234,568");
  EXPECT_EQ(rate_text(999.99), "1,000");
  EXPECT_EQ(rate_text(756.5), "756.5");
  EXPECT_EQ(rate_text(4), "4");
  EXPECT_EQ(rate_text(3.2), "3.2");
  EXPECT_EQ(rate_text(0.000020456), "0.00002046");
  EXPECT_EQ(rate_text(0), "0");
}

// The price is of one machine.
TEST(RunTime, CostsThePriceOfEachMachine) {
  TaskSettings s;
  s.ranks = std::make_shared<RunRanks>(Share{7, 8}, 4);
  const DiskNeed disk{.model_bytes = 10};
  const auto time_of = [&] { return run_time(s, {.steps = 100, .epochs = 1}, disk, 36, 0, {}); };
  EXPECT_EQ(time_of().machines, 2);
  EXPECT_DOUBLE_EQ(time_of().cost(10), 20);
  s.price_per_hour = 10;
  s.max_cost = 19;
  EXPECT_DOUBLE_EQ(most_seconds(s).value(), 0.95 * 3600);
  EXPECT_THAT(check_time(s, time_of()).error().text(), HasSubstr("and to cost 20.00, 19.00"));
  s.max_cost = 21;
  EXPECT_TRUE(check_time(s, time_of()).ok());
  s.ranks = std::make_shared<RunRanks>(Share{7, 8}, 8);
  EXPECT_DOUBLE_EQ(time_of().cost(10), 10) << "eight ranks of one machine";
}

TEST(RunLength, WithoutDataByStepsOrSamples) {
  TaskSettings s;
  s.per_device_train_batch_size = 4;
  EXPECT_EQ(length_without_data(s, 128).steps, 0) << "nobody knows";
  s.max_steps = 10;
  EXPECT_EQ(length_without_data(s, 128).steps, 10);
  EXPECT_EQ(length_without_data(s, 128).tokens, 10 * 4 * 128);
  s.max_steps = -1;
  s.max_train_samples = 100;
  s.num_train_epochs = 2;
  const RunLength length = length_without_data(s, 128);
  EXPECT_EQ(length.steps, 50);
  EXPECT_DOUBLE_EQ(length.epochs, 2);
  EXPECT_EQ(length.tokens, 100 * 128);
}

// Steps of 2 s; checkpoints of 30 bytes and a model of 10, at 10 bytes a second.
RunTime small_time(TaskSettings& s, int64_t steps, int64_t done) {
  const DiskNeed disk{.model_bytes = 10, .checkpoint_bytes = 30, .checkpoints = 2, .written = 4};
  const RunLength length{.steps = steps, .done = done, .epochs = 2, .tokens = 1000, .eval_rows = 5};
  return run_time(s, length, disk, 2, 7,
                  {.disk_read_bytes_per_second = 20, .disk_write_bytes_per_second = 10});
}

TEST(RunTime, AllThatARunDoes) {
  TaskSettings s;
  const RunTime plain = small_time(s, 100, 0);
  EXPECT_EQ(plain.tokens, 2000);
  EXPECT_DOUBLE_EQ(plain.seconds(), 200 + 4 * 3 + 1) << "steps, checkpoints, the model";
  EXPECT_DOUBLE_EQ(plain.cost(36), 2.13);
  EXPECT_THAT(plain.text(36), HasSubstr("2 s a step, 3m33s for 100 steps; costs 2.13"));
  EXPECT_EQ(price_text(12.4), "12.40");
  EXPECT_EQ(price_text(0.1), "0.10");
  EXPECT_EQ(price_text(0.01234), "0.012");
  EXPECT_EQ(price_text(0.00071), "0.00071");
  EXPECT_EQ(price_text(0.01), "0.01");
  EXPECT_EQ(price_text(0), "0.00");
  s.do_eval = true;
  s.eval_strategy = "epoch";
  s.model_name_or_path = "model";
  EXPECT_DOUBLE_EQ(small_time(s, 100, 0).seconds(), 213 + 0.5 + 3 * 7);
  s.eval_strategy = "steps";
  s.eval_steps = 10;
  EXPECT_EQ(small_time(s, 100, 0).evaluations, 11);
  s.do_eval = false;
  EXPECT_DOUBLE_EQ(small_time(s, 100, 50).seconds(), 100 + 2 * 3 + 1 + 0.5) << "what is left";
  EXPECT_EQ(small_time(s, 0, 0).seconds(), 0);
  EXPECT_EQ(small_time(s, 100, 0).json(0).value("disk_bytes", 0), 70);
  EXPECT_FALSE(small_time(s, 100, 0).json(0).contains("cost"));
}

TEST(CheckTime, RefusesWhatTakesLonger) {
  TaskSettings s;
  const auto refused = [&] {
    const Status status = check_time(s, small_time(s, 100, 0));
    return status.ok() ? std::string() : status.error().text();
  };
  EXPECT_EQ(refused(), "");
  s.max_hours = 1;
  EXPECT_EQ(refused(), "");
  s.max_hours = 0.05;
  EXPECT_THAT(refused(), HasSubstr("H2426"));
  EXPECT_THAT(refused(), HasSubstr("predicted to take 3m33s, 3m00s may be used"));
  EXPECT_THAT(refused(), HasSubstr("--max_steps 83 fits; or give --max_hours 0.065"));
  s.max_hours = 0;
  s.max_cost = 2;
  EXPECT_THAT(refused(), HasSubstr(err::kSettingRequired.id));
  s.price_per_hour = 36;
  EXPECT_THAT(refused(), HasSubstr("and to cost 2.13, 2.00 may be used"));
  EXPECT_THAT(refused(), HasSubstr("--max_steps 93 fits; or give --max_cost 2.35"));
  s.max_cost = 3;
  EXPECT_EQ(refused(), "");
  s.max_hours = 0.001;
  EXPECT_THAT(refused(), HasSubstr("give --max_hours")) << "the lower limit; nothing fits";
}

TEST(TimeReport, TellsOnceAfterTwentySteps) {
  TaskSettings s;
  std::string told;
  set_log_sink([&](std::string_view text) { told += text; });
  const auto report = make_time_report(small_time(s, 100, 0));
  for (int64_t step = 1; step <= 40; ++step) {
    report->on_step_end({step, 100, 0}, {.steps = step, .step_seconds = step == 1 ? 50 : 3.0});
    EXPECT_EQ(told.empty(), step < 20) << step;
  }
  EXPECT_THAT(
      told,
      HasSubstr("3 s a step, predicted 2 (1.5 times the prediction); 4m13s left for 80 steps"));
  told.clear();
  const auto shorter = make_time_report(small_time(s, 3, 0));
  for (int64_t step = 1; step <= 3; ++step)
    shorter->on_step_end({step, 3, 0}, {.steps = step, .step_seconds = 1});
  set_log_sink({});
  EXPECT_THAT(told, HasSubstr("1 s a step, predicted 2 (0.5 times the prediction)\n"));
}

TEST(MachineSpeeds, AreMeasuredOnceAndKept) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("hone_speeds_{}", ::getpid());
  const char* before = std::getenv("HONE_CACHE");
  const std::string kept = before ? before : "";
  ::setenv("HONE_CACHE", folder.c_str(), 1);
  const auto cpu = open_backend("cpu", {.threads = 1}).value();
  EXPECT_FALSE(machine_speeds(*cpu, {.measure = false})) << "nothing is known yet";
  const MachineSpeeds first = *machine_speeds(*cpu, {});
  EXPECT_TRUE(first.measured_now);
  EXPECT_GT(first.speeds.ops->find("matmul.nn")->flop_s, 0);
  const MachineSpeeds again = *machine_speeds(*cpu, {.measure = false});
  EXPECT_FALSE(again.measured_now);
  EXPECT_EQ(again.ops->json(), first.ops->json());
  EXPECT_EQ(again.speeds.node_seconds, first.speeds.node_seconds);
  const auto two = open_backend("cpu", {.threads = 2}).value();
  EXPECT_FALSE(machine_speeds(*two, {.measure = false})) << "another number of threads";
  EXPECT_FALSE(machine_speeds(*open_backend("reference").value(), {}));
  ASSERT_TRUE(file_store().write(speeds_file(), "{\"form\": 2, [").ok());
  EXPECT_FALSE(machine_speeds(*cpu, {.measure = false})) << "a broken file says nothing";
  std::filesystem::remove_all(folder);
  kept.empty() ? ::unsetenv("HONE_CACHE") : ::setenv("HONE_CACHE", kept.c_str(), 1);
}

}  // namespace
}  // namespace hone
