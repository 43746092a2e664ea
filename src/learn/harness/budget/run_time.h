// Predicts time and price of a run before its first step.
#pragma once

#include "base/core/threads.h"
#include "engine/plan/link_time.h"
#include "learn/harness/budget/disk_need.h"
#include "learn/harness/budget/programs.h"
#include "learn/harness/feed.h"

namespace hone {

// Runs of the programs of a step, by shape of micro-batch; of a mean step they are fractions.
struct StepRuns {
  std::vector<double> first, more;  // the first micro-batch of a step; those that add to it
  double micro_batches() const;
};

// Seconds of the programs of a step, by shape of micro-batch.
struct StepTimes {
  std::vector<double> first, more;  // the first micro-batch of a step; one that adds to it
  double update = 0;                // 0: it is part of the first
  double evaluation = 0;            // of the largest micro-batch of an evaluation
  double of(const StepRuns& runs) const;
};
// `links`: of its collectives, if there are ranks.
StepTimes step_times(std::span<const Program> programs, const RunShapes& shapes,
                     const Speeds& speeds, const LinkSpeeds& links = {});
// Another amount than seconds, such as FLOPs or bytes that are sent.
StepTimes step_amounts(std::span<const Program> programs, const RunShapes& shapes,
                       FunctionRef<double(const Program&)> amount);

// A mean optimizer step: over some steps of the feed, cut into micro-batches as in the run; of the
// rank that takes longest. If data stream or are not read, `micro_batches` of the largest shape.
StepRuns mean_step_runs(const StepTimes& times, double micro_batches);
Result<StepRuns> mean_step_runs(const TrainSettings& s, const StepTimes& times,
                                const BatchGrid& grid, RowFeed& feed, double micro_batches);
// Its seconds.
double mean_step_seconds(const StepTimes& times, double micro_batches);
Result<double> mean_step_seconds(const TrainSettings& s, const StepTimes& times,
                                 const BatchGrid& grid, RowFeed& feed, double micro_batches);
// Seconds of an evaluation of this number of rows, which all ranks of the run share; 0 if the grid is empty.
double evaluation_seconds(const TrainSettings& s, const StepTimes& times, const BatchGrid& grid,
                          int64_t rows);

// The length of a run, as far as known. 0: unknown.
struct RunLength {
  int64_t steps = 0;  // optimizer steps of the whole run
  int64_t done = 0;   // of these, done before this start
  double epochs = 0;
  int64_t tokens = 0;  // of the training set on its first axis, or the largest possible
  int64_t train_rows = 0;
  int64_t eval_rows = 0;  // of one evaluation
};
// From max_steps, or from max_train_samples and num_train_epochs.
RunLength length_without_data(const TaskSettings& s, int64_t row_tokens);
RunLength length_of(const RowFeed& feed, const Examples& examples);

// Four digits, thousands in groups, and no power of ten: "26,054", "756.5", "0.00205". For rates.
std::string rate_text(double rate);

// Two digits after the point, of less than 0.1 up to the second one that is not 0: "12.40", "0.05", "0.0012".
std::string price_text(double price);

struct RunTime {
  double step_seconds = 0;
  int64_t steps = 0;              // left to do; 0: unknown
  int64_t machines = 1;           // each has a price
  int64_t tokens = 0;             // in these steps
  double load_seconds = 0;        // to read the weights
  double evaluation_seconds = 0;  // each
  int64_t evaluations = 0;
  double save_seconds = 0;  // each checkpoint
  int64_t checkpoint_bytes = 0, model_bytes = 0, checkpoints_written = 0, checkpoints_kept = 0;
  double model_seconds = 0;  // to save the model at the end

  double training_seconds() const { return step_seconds * static_cast<double>(steps); }
  double seconds() const;  // of everything; 0 if the steps are unknown
  // `price_per_hour`: of one machine.
  double cost(double price_per_hour) const {
    return seconds() / 3600 * price_per_hour * static_cast<double>(machines);
  }
  OrderedJson json(double price_per_hour) const;
  // "2.31 s a step, 1h04m for 1,000 steps; costs 12.30"
  std::string text(double price_per_hour) const;
};
// Reading and writing files is predicted from the disk's speed.
RunTime run_time(const TaskSettings& s, const RunLength& length, const DiskNeed& disk,
                 double step_seconds, double evaluation_seconds, const Speeds& speeds);

// The seconds that --max_hours and --max_cost allow; infinite without them. Errors: H0207
// --max_cost without --price_per_hour.
Result<double> most_seconds(const TrainSettings& s);
// H2426 if the prediction is longer, with the --max_steps that fits.
Status check_time(const TrainSettings& s, const RunTime& time);

// Prints the measured and the predicted time of a step after 20 steps, or at the end of a shorter
// run. From then on the time left comes from measurement.
std::unique_ptr<TrainCallback> make_time_report(const RunTime& predicted);

}  // namespace hone
