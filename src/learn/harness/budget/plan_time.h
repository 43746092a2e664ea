// The time, the price and the files of a planned run.
#pragma once

#include "base/core/json.h"
#include "learn/harness/budget/machine_speeds.h"
#include "learn/harness/budget/run_time.h"

namespace hone {

// The rows of a run whose data are on this machine.
struct PlanData {
  std::unique_ptr<ThreadPool> pool;  // if no backend of this machine has one
  Examples examples;
  std::optional<RowFeed> feed;
};
// Reads the data that train_file, data_dir or similar settings name, or a data set that is a folder
// or file of this machine. Null: no data are named, they are not on this machine, or they are
// streamed. Errors: those of the task.
// `here`: null if the run's device is not this machine's.
Result<std::unique_ptr<PlanData>> read_plan_data(const Task& task, Pretrained& model,
                                                 const Backend* here);

struct PlannedTime {
  RunTime time;
  RunLength length;
  bool at_least = false;             // by a data sheet
  std::optional<int64_t> free_disk;  // of the machine of the run; none: another machine
  std::optional<Error> too_long, too_large;
  bool fits() const { return !too_long && !too_large; }
};
// Predicts the time of a run. Errors: H0207. H2426 and H2425 are not returned: they are stored in
// too_long and too_large. `is_here`: the run's device is this machine's, and so is its disk.
Result<PlannedTime> plan_time(const TaskModel& m, const RunLength& length, const RunPlan& plan,
                              double step_seconds, double evaluation_seconds,
                              const DeviceSpec& device, bool is_here);
OrderedJson time_json(const TaskSettings& s, const PlannedTime& t);
// The prediction as lines of text, or what it lacks; "" if nothing is trained.
std::string time_text(const TaskSettings& s, const PlannedTime& t);

}  // namespace hone
