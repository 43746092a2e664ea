// Predicts the time, the price and the disk space of a planned run.
#pragma once

#include "base/core/json.h"
#include "learn/harness/budget/machine_speeds.h"
#include "learn/harness/budget/run_time.h"

namespace hone {

// The training data of a planned run.
struct PlanData {
  std::unique_ptr<ThreadPool> pool;  // null: the pool of the backend `here` is used
  Examples examples;
  std::optional<RowFeed> feed;  // set by read_plan_data()
};
// Reads the data that --train_file, --data_dir or --train_data_file names, or a data set that is a folder or file of
// this machine. Returns null if no data are named, the data set is not on this machine, the data are streamed, or the
// run does not train. `here`: the backend of the run's device; null: the device is not on this machine. Errors: those
// of the task.
Result<std::unique_ptr<PlanData>> read_plan_data(const Task& task, Pretrained& model,
                                                 const Backend* here);

struct PlannedTime {
  RunTime time;
  RunLength length;
  // True: the speeds are from a data sheet, so the run takes at least `time`. False: the speeds are measured.
  bool at_least = false;
  // Free bytes of the disk of output_dir; nullopt: the run is not on this machine, does not train, or its number of
  // steps is unknown.
  std::optional<int64_t> free_disk;
  // too_long: H2426 if the run exceeds --max_hours or --max_cost. too_large: H2425 if its files do not fit on the disk.
  // nullopt: no such Error.
  std::optional<Error> too_long, too_large;
  bool fits() const { return !too_long && !too_large; }
};
// Predicts the time of a run. `plan`: the plan of one rank. `step_seconds`: predicted seconds of an optimizer step.
// `evaluation_seconds`: predicted seconds of one evaluation. `is_here`: the run's device and disk are on this machine.
// Errors: H0207 --max_cost without --price_per_hour. H2426 and H2425 are not returned; they are stored in the result.
Result<PlannedTime> plan_time(const TaskModel& m, const RunLength& length, const RunPlan& plan,
                              double step_seconds, double evaluation_seconds,
                              const DeviceSpec& device, bool is_here);
OrderedJson time_json(const TaskSettings& s, const PlannedTime& t);
// The prediction as lines of text. If the number of steps is unknown: one line, which names the settings to give. If
// the run does not train: "".
std::string time_text(const TaskSettings& s, const PlannedTime& t);

}  // namespace hone
