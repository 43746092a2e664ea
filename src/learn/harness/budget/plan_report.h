// The report of `hone plan` for one device: predicted memory and time of a run, and the settings that would make it
// fit. Reads no weights. Reads the training data only if the settings name data on this machine.
#pragma once

#include "learn/harness/budget/placement.h"
#include "learn/harness/budget/plan_time.h"
#include "learn/harness/budget/planned_devices.h"
#include "learn/harness/budget/save_copy.h"

namespace hone {

// Bytes in the device's memory that a smaller micro-batch does not reduce.
struct KeptBytes {
  int64_t states = 0;  // bytes of states that are kept from step to step
  // `states` plus the bytes of gradients that are kept from one micro-batch of a step to the next.
  int64_t all = 0;
};

// Three ways to make the run fit: placement, row_tokens and memory_bytes. Each is enough alone.
struct PlanRemedy {
  // The placement with the fewest changes with which one row fits; nullopt: none.
  std::optional<Placement> placement;
  // Number of tokens of a row: the largest of 1/2, 1/4, ... of the present number with which one row fits; 0: none.
  int64_t row_tokens = 0;
  // Bytes of memory that the device must have so that one row of the full length fits.
  int64_t memory_bytes = 0;
  KeptBytes kept;  // explains why smaller micro-batches are not enough
};

// Model and rows of a plan.
struct PlanSubject {
  std::shared_ptr<const TaskSettings> settings;
  std::string model;  // its name
  int64_t parameters = 0;
  RowLimit row;           // the longest row on the first axis
  std::string row_size;   // "512 tokens"
  bool of_tokens = true;  // rows consist of tokens; false: of something else, such as an image
  int64_t data_rows = 0;  // number of training rows; 0: the data are not read
  bool is_here = false;   // true: the devices are those of this machine
  // If the data have fewer than `step_rows` rows: "the data have 20 rows, so no step has 32" and a line break.
  // Otherwise "".
  std::string few_rows_text(int64_t step_rows) const;
};
// Model and rows of a run before its data are read: data_rows is 0 and is_here is false.
PlanSubject plan_subject(const Task& task, const Pretrained& model, const TaskModel& made);

// "4.1e+10 FLOP in a step of the data, ..." and a line break; "" if `flops` is 0. `flops`, `seconds`: of an optimizer
// step. `by`: inserted after "a step of the data", " by each rank" or "".
std::string step_text(const PlanSubject& of, const DeviceSpec& device, double flops, double seconds,
                      const char* by);

struct PlanReport : PlanSubject {
  DeviceSpec device;
  std::optional<MachineSpeeds> speeds;  // owns the speeds that `device` points into
  ArenaLimits limits;
  // Bytes of the device's memory that the runtime takes besides the arena. On a CPU they include stream_bytes, and are
  // 0 if the host has its own limit (--host_memory with --device_memory).
  int64_t runtime_bytes = 0;
  int64_t stream_bytes = 0;  // bytes for --streaming; 0 without it

  int64_t wanted_rows = 0;  // rows of a batch (per_device_train_batch_size)
  Fit fit;
  int64_t largest_rows = 0;  // rows of the largest micro-batch that fits, at most data_rows
  Needs one_more_row;        // memory for largest_rows + 1 rows; zeros: unknown
  Recomputed again;
  double flops = 0, seconds = 0;  // floating-point operations and seconds of an optimizer step
  PlannedTime time;
  SaveCopy copy;
  std::optional<PlanRemedy> remedy;   // set if not even one row fits
  std::optional<Placements> choices;  // set if plan_report() was asked for choices

  bool fits() const { return fit.rows > 0 && time.fits(); }
  bool all_rows_fit() const { return data_rows > 0 && largest_rows >= data_rows; }
  OrderedJson json() const;
  std::string text() const;
};

// Plans the run. `choices`: also tries placements (try_placements). Errors: those of the task, its data and its
// settings. A run that does not fit is not an error: see fits().
Result<PlanReport> plan_report(const Task& task, Pretrained& model, const PlannedDevices& devices,
                               bool choices);

// The limits plus the memory of the runtime as text: "26.0 GiB" or, if the host has its own limit, "26.0 GiB of the
// device and 4.0 GiB of the host".
std::string limits_text(const ArenaLimits& limits, int64_t runtime_bytes);

}  // namespace hone
