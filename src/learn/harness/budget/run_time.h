// Predicts the time and the price of a run before its first step.
#pragma once

#include "base/core/threads.h"
#include "engine/plan/link_time.h"
#include "learn/harness/budget/disk_need.h"
#include "learn/harness/budget/programs.h"
#include "learn/harness/feed.h"

namespace hone {

// The number of times that an optimizer step runs each of its programs. The vectors have an element for each shape of
// micro-batch (BatchGrid::shapes). For the mean over several steps the numbers are fractions.
struct StepRuns {
  // `first`: runs of the program for the first micro-batch of a step. `more`: runs of the program for its other
  // micro-batches.
  std::vector<double> first, more;
  double micro_batches() const;  // all runs together
};

// Seconds of the programs of an optimizer step. The vectors have an element for each shape of micro-batch.
struct StepTimes {
  // `first`: seconds of the first micro-batch of a step. `more`: seconds of each other micro-batch.
  std::vector<double> first, more;
  double update = 0;                      // seconds of the update; 0: `first` includes it
  double evaluation = 0;                  // seconds of the largest micro-batch of an evaluation
  double of(const StepRuns& runs) const;  // seconds of a step, without evaluation
};
// Predicts the times of a run's programs. `links`: speeds of the links, for messages between several ranks.
StepTimes step_times(std::span<const Program> programs, const RunShapes& shapes,
                     const Speeds& speeds, const LinkSpeeds& links = {});
// As step_times(), but for an amount other than seconds, such as FLOPs or bytes sent. `amount`: returns the amount of
// one run of a program.
StepTimes step_amounts(std::span<const Program> programs, const RunShapes& shapes,
                       FunctionRef<double(const Program&)> amount);

// For data that are not read: the runs of a step of `micro_batches` micro-batches, all in the largest shape.
StepRuns mean_step_runs(const StepTimes& times, double micro_batches);
// For data that are read: the mean over up to 64 steps of the feed, spread over the run and cut into micro-batches as
// in the run. In each step the rank that takes longest counts. If the data are streamed, the result is that of the
// other mean_step_runs(). Errors: those of the feed.
Result<StepRuns> mean_step_runs(const TrainSettings& s, const StepTimes& times,
                                const BatchGrid& grid, RowFeed& feed, double micro_batches);
// The seconds of the step that mean_step_runs() returns for these arguments.
double mean_step_seconds(const StepTimes& times, double micro_batches);
Result<double> mean_step_seconds(const TrainSettings& s, const StepTimes& times,
                                 const BatchGrid& grid, RowFeed& feed, double micro_batches);
// Predicts the seconds of an evaluation of `rows` rows, which the ranks of the run divide. `grid`: the shapes of
// evaluations; if it is empty, the result is 0.
double evaluation_seconds(const TrainSettings& s, const StepTimes& times, const BatchGrid& grid,
                          int64_t rows);

// The length of a run. 0: unknown.
struct RunLength {
  int64_t steps = 0;  // optimizer steps of the whole run
  int64_t done = 0;   // the number of these steps that an earlier start of the run has done
  double epochs = 0;  // epochs of the whole run
  // Tokens of the training set on its first axis. If the data are not read, every row counts with its largest length.
  int64_t tokens = 0;
  int64_t train_rows = 0;  // rows of the training set
  int64_t eval_rows = 0;   // rows of one evaluation
};
// The length of a run whose data are not read. The length follows from max_train_samples if that is set, otherwise from
// max_steps. `row_tokens`: tokens of each row. Members that remain unknown are 0.
RunLength length_without_data(const TaskSettings& s, int64_t row_tokens);
// The length of a run whose data are read.
RunLength length_of(const RowFeed& feed, const Examples& examples);

// A number as text, without an exponent: at most four significant digits, "756.5" or "0.00205"; from 1,000 on, all
// digits before the point, "26,054".
std::string rate_text(double rate);

// A price as text with two digits after the point: "12.40". Below 0.1 with up to two significant digits: "0.05",
// "0.0012".
std::string price_text(double price);

struct RunTime {
  double step_seconds = 0;
  int64_t steps = 0;              // optimizer steps left to do; 0: unknown
  int64_t machines = 1;           // machines to pay for
  int64_t tokens = 0;             // tokens of these steps on the first axis
  double load_seconds = 0;        // seconds to read the weights
  double evaluation_seconds = 0;  // seconds of one evaluation
  int64_t evaluations = 0;        // number of evaluations left to do
  double save_seconds = 0;        // seconds to write one checkpoint
  // checkpoint_bytes: size of one checkpoint. model_bytes: size of the final model. checkpoints_written: number of
  // checkpoints left to write. checkpoints_kept: the largest number of checkpoints on the disk at the same time.
  int64_t checkpoint_bytes = 0, model_bytes = 0, checkpoints_written = 0, checkpoints_kept = 0;
  double model_seconds = 0;  // seconds to save the model at the end

  double training_seconds() const { return step_seconds * static_cast<double>(steps); }
  double seconds() const;  // seconds of the rest of the run; 0 if the number of steps is unknown
  // The price of seconds() on all machines. `price_per_hour`: price of one machine for an hour.
  double cost(double price_per_hour) const {
    return seconds() / 3600 * price_per_hour * static_cast<double>(machines);
  }
  OrderedJson json(double price_per_hour) const;
  // "2.31 s a step, 1h04m for 1,000 steps; costs 12.30"
  std::string text(double price_per_hour) const;
};
// Predicts the time of a run. `step_seconds`, `evaluation_seconds`: seconds of a mean optimizer step and of one
// evaluation. The time to read and write files follows from the disk's speed in `speeds`; an unknown speed counts as 0
// seconds.
RunTime run_time(const TaskSettings& s, const RunLength& length, const DiskNeed& disk,
                 double step_seconds, double evaluation_seconds, const Speeds& speeds);

// The seconds that --max_hours and --max_cost allow; infinite if neither is set. Errors: H0207 --max_cost without
// --price_per_hour.
Result<double> most_seconds(const TrainSettings& s);
// Returns H2426 if the predicted time is longer than most_seconds(). If a --max_steps fits, the message names it. Other
// errors: those of most_seconds().
Status check_time(const TrainSettings& s, const RunTime& time);

// A callback that prints one line, after 20 steps or at the end of a shorter run: the measured and the predicted time
// of a step, and the time left, computed from the measured time.
std::unique_ptr<TrainCallback> make_time_report(const RunTime& predicted);

}  // namespace hone
