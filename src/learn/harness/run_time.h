// How long a run takes and what it costs, before its first step.
#pragma once

#include "learn/harness/disk_need.h"
#include "learn/harness/feed.h"
#include "learn/harness/programs.h"

namespace hone {

// Seconds of the programs of a step, by shape of micro-batch.
struct StepTimes {
  std::vector<double> first, more;  // one that is the first of its step, one that adds to it
  double update = 0;                // 0: it is part of the first
  double evaluation = 0;            // of the largest micro-batch of an evaluation
};
StepTimes step_times(std::span<const Program> programs, const RunShapes& shapes,
                     const Speeds& speeds);

// Seconds of an optimizer step on average: of some steps of the feed, cut into micro-batches as the run
// does. Where data stream or are not read, that of `micro_batches` of the largest shape.
double mean_step_seconds(const StepTimes& times, double micro_batches);
Result<double> mean_step_seconds(const StepTimes& times, const BatchGrid& grid, RowFeed& feed,
                                 double micro_batches);
// Seconds of an evaluation of that number of rows; 0 where the grid is empty.
double evaluation_seconds(const StepTimes& times, const BatchGrid& grid, int64_t rows);

// What is known of a run's length. 0: not known.
struct RunLength {
  int64_t steps = 0;  // optimizer steps of the whole run
  int64_t done = 0;   // of these before it continues
  double epochs = 0;
  int64_t tokens = 0;  // of the training set on its first axis, or the most that it may have
  int64_t train_rows = 0;
  int64_t eval_rows = 0;  // of one evaluation
};
// By max_steps, or by max_train_samples and num_train_epochs.
RunLength length_without_data(const TaskSettings& s, int64_t row_tokens);
RunLength length_of(const RowFeed& feed, const Examples& examples);

struct RunTime {
  double step_seconds = 0;
  int64_t steps = 0;              // that are left; 0: not known
  int64_t tokens = 0;             // in these steps
  double load_seconds = 0;        // weights are read
  double evaluation_seconds = 0;  // each
  int64_t evaluations = 0;
  double save_seconds = 0;  // each checkpoint
  int64_t checkpoint_bytes = 0, model_bytes = 0, checkpoints_written = 0, checkpoints_kept = 0;
  double model_seconds = 0;  // the model is saved at the end

  double training_seconds() const { return step_seconds * static_cast<double>(steps); }
  double seconds() const;  // of all; 0 where the steps are not known
  double cost(double price_per_hour) const { return seconds() / 3600 * price_per_hour; }
  OrderedJson json(double price_per_hour) const;
  // "2.31 s a step, 1h04m for 1,000 steps; costs 12.30"
  std::string text(double price_per_hour) const;
};
// Reading and writing files takes what the disk's speed says.
RunTime run_time(const TaskSettings& s, const RunLength& length, const DiskNeed& disk,
                 double step_seconds, double evaluation_seconds, const Speeds& speeds);

// The seconds that --max_hours and --max_cost leave; infinite without them. Errors: H0207 --max_cost
// without --price_per_hour.
Result<double> most_seconds(const TrainSettings& s);
// H2426 where a run is predicted to take more, with the --max_steps that fits.
Status check_time(const TrainSettings& s, const RunTime& time);

// Tells after 20 steps, or at the end of a shorter run, what a step took and what was predicted. The
// time left is by measurement from then on.
std::unique_ptr<TrainCallback> make_time_report(const RunTime& predicted);

}  // namespace hone
