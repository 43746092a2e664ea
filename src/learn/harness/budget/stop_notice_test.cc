#include "learn/harness/budget/stop_notice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/core/log.h"
#include "base/store/store.h"

namespace hone {
namespace {

using testing::HasSubstr;

TEST(StopTime, IsThatOfUninterruptedWorkAndOfTheCheckpoint) {
  const StepTimes whole{.first = {1, 2}, .more = {1, 2}};
  EXPECT_DOUBLE_EQ(stop_time(whole, 5, false).seconds(), 2 + 5);
  const StepTimes accumulated{.first = {1, 2}, .more = {1.5, 3}, .update = 0.5};
  EXPECT_DOUBLE_EQ(stop_time(accumulated, 5, false).seconds(), 3.5 + 5);
  EXPECT_DOUBLE_EQ(stop_time({}, 5, false).seconds(), 5) << "a device whose speed is not known";
}

TEST(StopTime, InABucketTheCheckpointBeforeMayStillBeWritten) {
  const StepTimes whole{.first = {2}, .more = {2}};
  EXPECT_DOUBLE_EQ(stop_time(whole, 5, true).seconds(), 5 + 5);
  EXPECT_DOUBLE_EQ(stop_time(whole, 1, true).seconds(), 2 + 1) << "it is written during the step";
  EXPECT_DOUBLE_EQ(stop_time({}, 5, true).seconds(), 5 + 5);
}

TEST(StopTime, IsReportedOrWarnedOf) {
  std::string printed;
  set_log_sink([&](std::string_view text) { printed += text; });
  TaskSettings s;
  const StopTime saving{
      .finish_seconds = 1, .save_seconds = 20, .checkpoint_bytes = 3 << 20, .whole_step = true};
  report_stop_time(s, saving);
  EXPECT_EQ(printed, "") << "without --stop_notice";
  s.stop_notice = 30;
  report_stop_time(s, saving);
  EXPECT_THAT(printed, HasSubstr("takes 21 s of the 30 s of --stop_notice: 1 s to finish a step, "
                                 "20 s to save 3.0 MiB\n"));
  s.stop_notice = 10;
  printed.clear();
  report_stop_time(s, saving);
  EXPECT_THAT(printed, HasSubstr("a stop is predicted to take 21 s, --stop_notice is 10 s"));
  EXPECT_THAT(printed, HasSubstr("Use a faster --output_dir"));
  printed.clear();
  report_stop_time(s, {.finish_seconds = 20, .wait_seconds = 2, .save_seconds = 1});
  EXPECT_THAT(printed, HasSubstr("20 s to finish a micro-batch"));
  EXPECT_THAT(printed, HasSubstr("2 s for the checkpoint before"));
  EXPECT_THAT(printed, HasSubstr("Use a smaller --per_device_train_batch_size"));
  printed.clear();
  report_stop_time(s, {.save_seconds = 1, .checkpoint_bytes = 1 << 20});
  EXPECT_THAT(printed, HasSubstr(": 1 s to save 1.0 MiB; the time of a step is not known\n"));
  set_log_sink({});
}

TEST(SaveSpeed, IsThatOfTheStore) {
  const std::unique_ptr<Store> memory = make_memory_store();
  const FileStoreInstead instead(*memory);
  EXPECT_GT(measure_save_speed("out").value(), 0);
  EXPECT_TRUE(file_store().list("out")->empty());
}

}  // namespace
}  // namespace hone
