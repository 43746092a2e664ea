// Callbacks of a training run, modelled on Transformers' TrainerCallback. The Trainer calls them in the order in which
// they were added. The console output, the reporters (such as TensorBoard) and early stopping are callbacks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/train/best_model.h"
#include "learn/train/log_media.h"

namespace hone {

// The progress of a run.
struct RunPlace {
  // step: optimizer steps done. total_steps: optimizer steps of the whole run.
  int64_t step = 0, total_steps = 0;
  double epoch = 0;  // epochs done, with a fraction
};

// Facts of the last step, and sums over the steps since this process started to train.
struct StepReport {
  double loss = 0;     // loss of the last step
  double seconds = 0;  // time since this process started to train
  // Since this process started to train: number of steps, of tokens on the first axis (the source tokens, if rows have
  // a target) and of rows.
  int64_t steps = 0, tokens = 0, rows = 0;
  double step_seconds = 0;  // time of the last step
  double data_seconds = 0;  // total time that steps waited for their rows
  double save_seconds = 0;  // total time that training waited for checkpoints
};

class TrainCallback {
 public:
  virtual ~TrainCallback() = default;
  // Called once at the start of Trainer::train(), before the first step.
  virtual Status on_train_begin(const RunPlace&) { return Ok{}; }
  // Called after each step, before its log entry, evaluation and checkpoint. Must not allocate memory.
  virtual void on_step_end(const RunPlace&, const StepReport&) {}
  // Called after an entry is added to trainer_state's log_history: {loss, grad_norm, learning_rate, epoch},
  // {eval_loss, ...} or {train_runtime, ...}.
  virtual Status on_log(const RunPlace&, const OrderedJson& /*entry*/) { return Ok{}; }
  // Called after on_log() if the task has images for the log.
  virtual void on_media(const RunPlace&, const LogMedia&) {}
  // Called before every evaluation, also those outside of training.
  virtual void on_evaluate_begin(const RunPlace&) {}
  // Called after an evaluation during training, after on_log() of its entry; not called if a stop interrupted the
  // evaluation. `best`: the best of the earlier evaluations.
  virtual Status on_evaluate(const RunPlace&, const OrderedJson& /*metrics*/,
                             const BestModel& /*best*/) {
    return Ok{};
  }
  // Called on the training thread after a checkpoint was written completely. `checkpoint`: its path. `seconds`: time to
  // write it, including time while training continued.
  virtual void on_save(const RunPlace&, const std::string& /*checkpoint*/, double /*seconds*/) {}
  // Called once after the last step, also if a stop or a time limit ended training early; not called after an Error.
  // The final model is saved later.
  virtual void on_train_end(const RunPlace&) {}
  // Called once by Trainer::begin() if the run in the output folder had ended before this start, so nothing is trained.
  // `log_history`: the log of that run.
  virtual void on_ended_before(const RunPlace&, const Json& /*log_history*/) {}

  // Returns true to end training before the next step, as if the last step of the run were done.
  virtual bool stop() const { return false; }
  // A callback may have a state that checkpoints save and resumed runs restore. name(): the key of the state in
  // trainer_state's stateful_callbacks; "": the callback has no state. state(): the state, in Transformers' form
  // {"args": ..., "attributes": ...}. restore(): sets it from a result of state().
  virtual std::string name() const { return ""; }
  virtual Json state() const { return {}; }
  virtual void restore(const Json&) {}
};

using Callbacks = std::vector<std::unique_ptr<TrainCallback>>;

// Prints the progress: a progress bar on a terminal, and a line for each log entry.
std::unique_ptr<TrainCallback> make_console(const TrainSettings& s);
// Ends training after early_stopping_patience evaluations in a row that did not improve the best value of the metric by
// more than early_stopping_threshold. early_stopping_patience must be set, and best_metric_of() must return a metric.
std::unique_ptr<TrainCallback> make_early_stopping(const TrainSettings& s);

// The callbacks that the settings ask for.
Callbacks make_callbacks(const TrainSettings& s);

}  // namespace hone
