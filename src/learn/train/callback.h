// Listeners of a run, after Transformers' TrainerCallback. The Trainer calls them in the order in
// which they were added; console, reporters and early stopping are callbacks.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/core/json.h"
#include "learn/train/best_model.h"
#include "learn/train/log_media.h"

namespace hone {

struct RunPlace {
  int64_t step = 0, total_steps = 0;  // optimizer steps done
  double epoch = 0;
};

// Sums since the process began to train.
struct StepReport {
  double loss = 0;  // of the last step
  double seconds = 0;
  int64_t steps = 0, tokens = 0, rows = 0;
  double step_seconds = 0;  // of the last step alone
  double data_seconds = 0;  // waits of steps for their rows
  double save_seconds = 0;  // waits of training for checkpoints
};

class TrainCallback {
 public:
  virtual ~TrainCallback() = default;
  virtual Status on_train_begin(const RunPlace&) { return Ok{}; }
  virtual void on_step_end(const RunPlace&, const StepReport&) {}  // must not allocate
  // An entry of log_history: {loss, grad_norm, learning_rate, epoch}, {eval_loss, ...} or
  // {train_runtime, ...}.
  virtual Status on_log(const RunPlace&, const OrderedJson& /*entry*/) { return Ok{}; }
  // Called after on_log() if the task has images for the log.
  virtual void on_media(const RunPlace&, const LogMedia&) {}
  virtual void on_evaluate_begin(const RunPlace&) {}
  // An evaluation during training, after its entry; `best` comes from the evaluations before.
  virtual Status on_evaluate(const RunPlace&, const OrderedJson& /*metrics*/,
                             const BestModel& /*best*/) {
    return Ok{};
  }
  // `seconds`: writing time, also while training continued.
  virtual void on_save(const RunPlace&, const std::string& /*checkpoint*/, double /*seconds*/) {}
  virtual void on_train_end(const RunPlace&) {}
  // Called instead of the others if the run in the output folder has ended before, with its
  // log_history.
  virtual void on_ended_before(const RunPlace&, const Json& /*log_history*/) {}

  // True: training ends now, as if its last step were done.
  virtual bool stop() const { return false; }
  // State for a resumed run: {"args": ..., "attributes": ...} under name() in trainer_state's
  // stateful_callbacks; "": none.
  virtual std::string name() const { return ""; }
  virtual Json state() const { return {}; }
  virtual void restore(const Json&) {}
};

using Callbacks = std::vector<std::unique_ptr<TrainCallback>>;

// Progress bar on a terminal, else a line for each log entry.
std::unique_ptr<TrainCallback> make_console(const TrainSettings& s);
// Ends training if the metric improved by at most the threshold in `patience` evaluations.
std::unique_ptr<TrainCallback> make_early_stopping(const TrainSettings& s);

// The callbacks that the settings ask for.
Callbacks make_callbacks(const TrainSettings& s);

}  // namespace hone
