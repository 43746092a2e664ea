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
  int64_t step = 0, total_steps = 0;  // optimizer steps done; optimizer steps of the whole run
  double epoch = 0;                   // epochs done, with a fraction
};

// Facts of the last step, and sums over the steps since this process started to train.
struct StepReport {
  double loss = 0;                          // loss of the last step
  double seconds = 0;                       // time since this process started to train
  int64_t steps = 0, tokens = 0, rows = 0;  // sums over the steps
  double step_seconds = 0;                  // time of the last step alone
  double data_seconds = 0;                  // total time that steps waited for their rows
  double save_seconds = 0;                  // total time that training waited for checkpoints
};

class TrainCallback {
 public:
  virtual ~TrainCallback() = default;
  virtual Status on_train_begin(const RunPlace&) { return Ok{}; }
  virtual void on_step_end(const RunPlace&, const StepReport&) {}  // must not allocate
  // Called for each entry of trainer_state's log_history: {loss, grad_norm, learning_rate, epoch}, {eval_loss, ...} or
  // {train_runtime, ...}.
  virtual Status on_log(const RunPlace&, const OrderedJson& /*entry*/) { return Ok{}; }
  // Called after on_log() if the task has images for the log.
  virtual void on_media(const RunPlace&, const LogMedia&) {}
  virtual void on_evaluate_begin(const RunPlace&) {}
  // Called after an evaluation during training, after on_log() of its entry. `best`: the best of the earlier
  // evaluations.
  virtual Status on_evaluate(const RunPlace&, const OrderedJson& /*metrics*/,
                             const BestModel& /*best*/) {
    return Ok{};
  }
  // Called when a checkpoint is complete. `seconds`: time to write it, including time while training continued.
  virtual void on_save(const RunPlace&, const std::string& /*checkpoint*/, double /*seconds*/) {}
  virtual void on_train_end(const RunPlace&) {}
  // Called instead of all others if the run in the output folder had ended before this start. `log_history`: its log.
  virtual void on_ended_before(const RunPlace&, const Json& /*log_history*/) {}

  // True: training ends now, as if its last step were done.
  virtual bool stop() const { return false; }
  // The state to save for a resumed run, in Transformers' form {"args": ..., "attributes": ...}. It is stored under
  // name() in trainer_state's stateful_callbacks. name() "": the callback has no state.
  virtual std::string name() const { return ""; }
  virtual Json state() const { return {}; }
  virtual void restore(const Json&) {}
};

using Callbacks = std::vector<std::unique_ptr<TrainCallback>>;

// Prints the progress: a progress bar on a terminal, and a line for each log entry.
std::unique_ptr<TrainCallback> make_console(const TrainSettings& s);
// Ends training after early_stopping_patience evaluations in a row that did not improve the metric by more than
// early_stopping_threshold. The settings must have a patience and a metric (best_metric_of).
std::unique_ptr<TrainCallback> make_early_stopping(const TrainSettings& s);

// The callbacks that the settings ask for.
Callbacks make_callbacks(const TrainSettings& s);

}  // namespace hone
