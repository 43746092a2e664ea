// The time, the price and the files of a planned run.
#pragma once

#include "base/core/json.h"
#include "learn/harness/budget/machine_speeds.h"
#include "learn/harness/budget/run_time.h"

namespace hone {

// The rows of a run whose data are on this machine.
struct PlanData {
  Examples examples;
  std::optional<RowFeed> feed;
};
// Reads what train_file, data_dir or the like name, or a data set that is a folder or a file here; null
// where no data are named, where they are not here, or where they stream. Errors: those of the task.
Result<std::unique_ptr<PlanData>> read_plan_data(const Task& task, Pretrained& model,
                                                 ThreadPool& pool);

struct PlannedTime {
  RunTime time;
  RunLength length;
  bool at_least = false;  // by a data sheet
  std::optional<Error> too_long;
};
// Errors: H0207. H2426 is not one: it is too_long.
Result<PlannedTime> plan_time(const TaskModel& m, const RunLength& length, const RunPlan& plan,
                              double step_seconds, double evaluation_seconds,
                              const DeviceSpec& device);
OrderedJson time_json(const TaskSettings& s, const PlannedTime& t);
// Lines; "" where nothing is known of the run's length.
std::string time_text(const TaskSettings& s, const PlannedTime& t);

}  // namespace hone
