// The memory and the time of a run before it starts, and the settings that would make it fit. Needs
// no weights; needs data only for the device of this machine.
#pragma once

#include "learn/harness/budget/placement.h"
#include "learn/harness/budget/plan_time.h"
#include "learn/harness/budget/planned_devices.h"
#include "learn/harness/budget/save_copy.h"

namespace hone {

// Bytes in the device's memory that do not shrink with the micro-batch.
struct KeptBytes {
  int64_t states = 0;  // from step to step
  int64_t all = 0;     // and from one micro-batch of a step to the next
};

// A change that makes the run fit: offloaded values, a shorter block, or more memory.
struct PlanRemedy {
  std::optional<Placement> placement;  // the one that changes least
  // The largest half, quarter, ... of the row's tokens with which one row fits; 0: none.
  int64_t row_tokens = 0;
  int64_t memory_bytes = 0;  // of the device, with one row of the length that was asked for
  KeptBytes kept;
};

// Model and rows of a plan.
struct PlanSubject {
  std::shared_ptr<const TaskSettings> settings;
  std::string model;
  int64_t parameters = 0;
  RowLimit row;          // of the first axis
  std::string row_size;  // "512 tokens"
  bool of_tokens = true;
  int64_t data_rows = 0;  // training rows; 0: they are not read
  bool is_here = false;   // the devices are this machine's
  // "the data have 20 rows, so no step has 32", with a line's end, if the data cannot fill a step of this many
  // rows; else "".
  std::string few_rows_text(int64_t step_rows) const;
};
PlanSubject plan_subject(const Task& task, const Pretrained& model, const TaskModel& made);

// "4.1e+10 FLOP in a step of the data, ..." with a line's end. `by`: whose FLOPs, " by each rank" or "".
std::string step_text(const PlanSubject& of, const DeviceSpec& device, double flops, double seconds,
                      const char* by);

struct PlanReport : PlanSubject {
  DeviceSpec device;
  std::optional<MachineSpeeds> speeds;  // that `device` points into
  ArenaLimits limits;
  // Beside the device's arena. On the CPU the runtime is the host's, unless that has its own limit.
  int64_t runtime_bytes = 0;
  int64_t stream_bytes = 0;

  int64_t wanted_rows = 0;  // of a batch
  Fit fit;
  int64_t largest_rows = 0;  // of a micro-batch that fits, at most data_rows
  Needs one_more_row;        // of the smallest micro-batch that does not fit; 0: not known
  Recomputed again;
  double flops = 0, seconds = 0;  // of an optimizer step
  PlannedTime time;
  SaveCopy copy;
  std::optional<PlanRemedy> remedy;   // if not one row fits
  std::optional<Placements> choices;  // if asked for

  bool fits() const { return fit.rows > 0 && time.fits(); }
  bool all_rows_fit() const { return data_rows > 0 && largest_rows >= data_rows; }
  OrderedJson json() const;
  std::string text() const;
};

// `choices`: tries what may be elsewhere or computed again. Errors: those of the task, of its data,
// of its settings.
Result<PlanReport> plan_report(const Task& task, Pretrained& model, const PlannedDevices& devices,
                               bool choices);

// "26.0 GiB", with the host's memory if that has a limit of its own. For reports.
std::string limits_text(const ArenaLimits& limits, int64_t runtime_bytes);

}  // namespace hone
