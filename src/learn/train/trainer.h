// The training loop: optimizer steps, logging, evaluation, checkpoints, resume. It is the same for every task: the
// interface TrainTask gives it the steps, the metrics and the files of the model.
//
// With several ranks, each rank has a Trainer, and all of them make the same decisions: a decision depends only on
// values that are equal on all ranks, or rank 0 makes it for all. Only rank 0 writes logs, results and the model; all
// ranks write checkpoints.
//
// A run that is killed at any moment and started again with the same settings ends with bit-identical weights:
// everything that a step depends on is a function of (seed, step, row) or is in the checkpoint.
#pragma once

#include <cmath>
#include <limits>
#include <map>
#include <memory>
#include <optional>

#include "base/core/clock.h"
#include "base/core/json.h"
#include "engine/session/session.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/data/batches/steps.h"
#include "learn/metrics/loss.h"
#include "learn/train/averages.h"
#include "learn/train/background_save.h"
#include "learn/train/callback.h"
#include "learn/train/idle_steps.h"
#include "learn/train/plateau.h"
#include "learn/train/run_lock.h"
#include "learn/train/schedule.h"
#include "learn/train/settings.h"
#include "learn/train/split.h"

namespace hone {

struct Difference;
class HostCopies;

// The results of one optimizer step, of all ranks together.
struct StepSums {
  double loss = 0;  // mean over the step's label tokens (or rows), without the loss scale
  // tokens: number of tokens on the first axis (the source tokens, if rows have a target). rows: number of rows.
  int64_t tokens = 0, rows = 0;
  int64_t all_tokens = 0;       // number of tokens on all axes
  double grad_norm = 0;         // norm of all gradients before clipping, without the loss scale
  double data_seconds = 0;      // time that the step waited for its rows
  bool without_labels = false;  // true: the step has no label, so nothing to learn
  // True: a stop request came before the last micro-batch. The step did not update the weights, and the other members
  // are incomplete.
  bool stopped = false;

  bool finite() const { return std::isfinite(loss) && std::isfinite(grad_norm); }
};

// Arguments of an update besides its gradients.
struct StepUpdate {
  double rate = 0;        // learning rate
  int64_t number = 1;     // number of the update, from 1; steps that were skipped do not count
  double loss_scale = 1;  // factor of the loss during the step; 1: none
};

// The cause of a loss or gradient that is not finite.
struct NotFiniteStep {
  // Description of the first value that is not finite; "": every value of the step is finite.
  std::string first;
  // Places of the rows that caused it or, if these are unknown, of all rows of its micro-batch: "train.csv:7". If there
  // are many, the last entry is the number of the others: "and 3 rows more".
  std::vector<std::string> rows;
};

// The work of a task, for the Trainer.
class TrainTask {
 public:
  virtual ~TrainTask() = default;
  virtual Session& session() = 0;
  virtual const StepCount& steps() const = 0;
  virtual int64_t train_rows() const = 0;

  // Runs optimizer step `step` (from 0): forward and backward of every micro-batch, and the update. The update changes
  // nothing unless loss and norm are finite. If a stop is requested, the step may end between two micro-batches, before
  // the update; StepSums::stopped is then true.
  virtual Result<StepSums> take_step(int64_t step, const StepUpdate& update) = 0;
  // Repeats the last call of take_step() with the same arguments, and checks every value. Call it only if that step
  // changed nothing, because its loss or norm was not finite.
  virtual Result<NotFiniteStep> why_not_finite(int64_t step, const StepUpdate& update) = 0;

  virtual bool can_evaluate() const = 0;  // true: there are rows to evaluate
  // Evaluates and returns the metrics without the prefix "eval_": loss, accuracy, ..., and the number of rows as
  // "samples". Returns an empty object if a stop was requested before the end.
  virtual Result<OrderedJson> evaluate() = 0;
  // The task's own values for the log, of the steps since the last call. All ranks call it.
  virtual Result<OrderedJson> logged() { return OrderedJson::object(); }
  // The images for the log that were made since the last call.
  virtual LogMedia take_media() { return {}; }

  // Writes the model's files except the weights, such as config and tokenizer, into a folder.
  virtual Status save_model_files(const std::string& folder) = 0;
  // For the final model, whose form may differ from that of a checkpoint: the form of an adapter, for example.
  // save_finished_files() writes the files except the weights into a folder. finished_tensors() returns the tensors to
  // save, made from the tensors `weights` of the session.
  virtual Status save_finished_files(const std::string& folder) { return save_model_files(folder); }
  virtual std::vector<TensorData> finished_tensors(std::vector<TensorData> weights) {
    return weights;
  }
  // Names of the weights to save, which are states of the session. The Trainer writes them.
  virtual std::vector<std::string> weight_names() const = 0;
  // Name of the file of the weights without its extension: "model" gives model.safetensors.
  virtual std::string weights_stem() const { return "model"; }
  // The second name of the weight with this name in a saved model, which has the weight under both names; "": none.
  virtual std::string second_name(const std::string&) const { return ""; }
  // The name of this weight in a saved model.
  virtual std::string saved_name(const std::string& name) const { return name; }
  // Tensors that are not states of the session, to write unchanged into a saved model.
  virtual Result<std::vector<TensorData>> other_tensors() const {
    return std::vector<TensorData>{};
  }
  // Floating-point operations of a step, counted as Transformers counts total_flos.
  virtual double flops_of_step(const StepSums& sums) const = 0;
  // For each weight, by its name: the names that other programs may give it in a checkpoint, the most likely one first.
  virtual std::map<std::string, std::vector<std::string>> other_names() const { return {}; }
  struct NumberedWeight {
    std::string name;
    bool decays = true;  // weight decay applies
  };
  // The trained weights in the order in which PyTorch's optimizers number them; nullopt: the order is unknown.
  virtual std::optional<std::vector<NumberedWeight>> numbered_weights() const { return {}; }
  // The place of the next step's rows in streamed data, to save in a checkpoint. Null: the data are not streamed, and
  // the rows of a step follow from its number.
  virtual Json data_place() const { return nullptr; }
  // Continues streamed data at `place`, an earlier result of data_place(). `name`: the checkpoint, for messages.
  virtual Status seek(const Json& place, const std::string& name) {
    (void)place, (void)name;
    return Ok{};
  }
  // Memory for a copy of all states that a checkpoint saves (the sum of copied_bytes() of the states). The checkpoint
  // is written from the copy while steps change the states. Empty: no copy is made.
  virtual std::span<std::byte> save_copy() { return {}; }
  // The facts that decide the results of the run (ledger.h). They are compared when the run is resumed.
  virtual Json fingerprint() const = 0;
};

// The place from which a run starts, found from the settings and the output folder.
struct TrainStart {
  std::string checkpoint;      // the checkpoint to resume from; "": a new run
  std::optional<Split> split;  // the split that the checkpoint has; nullopt: none
  // True: the output folder has a run that ended. `checkpoint` is then its newest checkpoint, "" if it has none.
  bool finished = false;
  Json ended;  // the fingerprint of the run that ended; null: none
  // Paths of checkpoints of an earlier run, to delete when training starts.
  std::vector<std::string> discard;
  std::shared_ptr<RunLock> lock;       // the lock of the output folder; null on ranks other than 0
  std::shared_ptr<HostCopies> copies;  // in-memory checkpoints (host_copies.h); null: none are made
  bool in_memory = false;              // true: `checkpoint` is an in-memory checkpoint
};

struct TrainOutcome {
  OrderedJson metrics;       // train_loss, train_runtime, ...
  int stopped_by = 0;        // number of the signal that ended the run early; 0: none
  bool out_of_time = false;  // true: limit_seconds() ended the run early
  int64_t steps_done = 0;    // number of steps that this call of train() ran
};

class StepProfile;

class Trainer {
 public:
  // Settings and task must outlive the trainer.
  Trainer(const TrainSettings& settings, TrainTask& task, Schedule schedule);

  // Finds the checkpoint to start from. Locks the output folder, and completes or removes unfinished files of a killed
  // process in it. Errors: H2410 settings do not fit together; H2403 the folder has files that are not those of a run,
  // or another process trains into it; H2408 there is no checkpoint and --resume_from_checkpoint requires one; those of
  // learn/checkpoint.
  static Result<TrainStart> find_start(const TrainSettings& settings);

  // Limits the time of training to `seconds` after this call. Training ends early, with a checkpoint as after a signal,
  // if one more step with the duration of the last one would end after the limit. At least one step runs.
  void limit_seconds(double seconds, Clock& clock = system_clock());

  void add_callback(std::unique_ptr<TrainCallback> c) { callbacks_.push_back(std::move(c)); }

  // Restores weights, optimizer states, place in the data and log from the checkpoint, if there is one. Returns true if
  // the run had ended before, perhaps by early stopping, and nothing is left to train. Errors: H2403 the run that ended
  // in the folder had different settings or more steps; H2405 the newest checkpoint has no optimizer state, or it
  // belongs to different rows or a different model and --resume_from_checkpoint does not name it. H2405 is returned
  // before weights are loaded.
  Result<bool> begin(const TrainStart& start);

  // Trains to the last step, then saves the model and trainer_state.json into output_dir. With --load_best_model_at_end
  // the saved model is the best one, else the last one. If a signal or limit_seconds() ends training early, saves a
  // checkpoint and no model. Errors: H2406 a loss or gradient is not finite; H2411 an evaluation does not have the
  // metric for the best model; H2428 the run learns nothing; H2429 the output folder disappeared; those of the task and
  // the callbacks. If a stop request interrupts a read (H0109), train() and evaluate() act on the stop request and do
  // not return H0109.
  Result<TrainOutcome> train();

  // Evaluates, adds the metrics to the log, and returns them with the prefix "eval_". If a stop was requested before
  // the end, returns an empty object and adds nothing to the log.
  Result<OrderedJson> evaluate();

  // If begin() returned true: the training metrics of the run that had ended, from train_results.json; null: that file
  // no longer exists.
  OrderedJson ended_metrics() const;
  // If begin() returned true: loads the weights of the model in the output folder, to evaluate it or to predict with
  // it.
  Status load_ended();

  // Writes <which>_results.json into the output folder, such as train_results.json for "train", and adds the metrics to
  // all_results.json. Only rank 0 writes.
  Status write_results(const std::string& which, const OrderedJson& metrics);
  Status write_state();  // writes trainer_state.json; only rank 0 writes
  // Marks the run in the output folder as ended. Errors: H2429 the folder disappeared.
  Status finish();

 private:
  static Result<TrainStart> find_in_folder(const TrainSettings& settings, const HostCopies* copies);
  Result<ResumeState> open_verified(const std::string& checkpoint) const;
  Status resume(const TrainStart& start);
  // `in_memory`: true: weights in the checkpoint have the session's names; false: those of a saved model.
  Status load_states(const ResumeState& from, const std::string& checkpoint, bool in_memory);
  // Restores everything except tensors. Errors: H2405 the state cannot be read.
  Status restore(const ResumeState& from, const std::string& checkpoint);
  // Adds the settings that differ to continued_.
  void note_continued(const Json& now, const std::vector<Difference>& differ);
  Json run_facts() const;  // the fingerprint, and continued_ as "continued"
  // The number of steps of an interval, which is a number of steps or, below 1, a share of all steps.
  int64_t steps_of(double interval) const;
  bool every(double interval, int64_t step) const;
  // Whether these are due now, after done_ steps:
  bool ends_epoch() const;
  bool log_is_due() const;
  bool evaluation_is_due() const;
  bool save_is_due(bool new_best) const;
  RunPlace place() const;
  Status log_step(double rate, double grad_norm);
  Status append_log(const OrderedJson& logs);  // also calls the callbacks
  Result<bool> evaluate_in_training();         // true: this evaluation is the best so far
  // Counts of one call of train(). The functions below are its parts.
  struct Progress {
    int64_t first = 0;             // number of steps done when train() was called
    double begun = 0;              // time of the call, in seconds
    int64_t tokens = 0, rows = 0;  // sums over the steps
    double step_seconds = 0;       // time of the last step
    double data_seconds = 0;       // total time that steps waited for rows
  };
  Status take_folder();
  Status evaluate_first();
  Status run_steps(StepProfile& profile, Progress& p, TrainOutcome& outcome);
  Result<bool> out_of_time(const Progress& p);  // true: one more step would end after deadline_
  Result<std::optional<StepSums>> take_step(const StepUpdate& update);
  void count_step(const StepSums& sums, double seconds, Progress& p);
  OrderedJson train_metrics(const Progress& p) const;
  bool stops_early() const;
  // Exchanges weights and their averages. Does nothing and returns false if there are no averages, or if they are
  // exchanged already.
  Result<bool> use_averages();
  Status leave_averages(bool used);  // `used`: the result of use_averages()
  // Call this after a checkpoint was loaded. `updates`: number of updates that it had made.
  Status after_loading(int64_t updates);
  StepUpdate next_update() const;
  // Acts on a step that is not finite. Ok: the run continues, and the step counts as done. An Error ends the run.
  Status not_finite(const StepSums& sums);
  Status roll_back(Error why);
  Result<std::string> newest_to_roll_back() const;  // path of a checkpoint; "": none
  // H2406 with the cause, or the Error because of which the cause cannot be found.
  Error why_not_finite(const StepSums& sums);
  // H2403: another process has taken the output folder. H2429: the folder disappeared; the current state was then
  // saved as a checkpoint in another folder, which the Error names.
  Status check_folder();
  Status keep_elsewhere(Error why);
  std::string checkpoint_path(int64_t step) const;
  Status load_best();
  Status save_model();
  // Saves a checkpoint of the current state. `extra` true: it is saved only because the run stops here. An extra
  // checkpoint does not count for save_total_limit, and is deleted after the next checkpoint or at the end of the run.
  // `last` true: no step follows. A checkpoint in a bucket is written while training continues. The next update waits
  // until the states are copied or, without memory for the copy, until they are written. finish_save() waits for the
  // end of the write and calls the callbacks. A checkpoint that cannot be written is skipped; the run ends after
  // kSavesMissed failures in a row.
  Status save_checkpoint(bool extra, bool last);
  // Waits for the end of the current save. `next`: the action after it: more steps, the last save of the run (which is
  // tried even after kSavesMissed failures), or the end of the run.
  enum class Next { steps, last_save, end };
  Status finish_save(Next next);
  // Calls save_checkpoint() and adds its time to save_seconds_ or last_save_seconds_.
  Status save_in_training(bool extra, bool last);
  bool memory_save_is_due() const;
  // Saves an in-memory checkpoint (host_copies.h). If there is not enough memory, the run continues without them.
  Status save_in_memory();
  // Calls finish_save() and adds its time to save_seconds_ or last_save_seconds_.
  Status finish_in_training(bool last);
  double save_seconds() const;  // time that steps waited for checkpoints, including the current one
  // A checkpoint that is being saved.
  struct Saving {
    // Null: the checkpoint was written before training continued.
    std::unique_ptr<BackgroundSave> job;
    RunPlace place;
    std::string path;
    bool extra = false;
    int64_t best_step = 0;  // the value of BestModel::checkpoint_step after it is written
    struct Done {
      double seconds = 0;     // time to write it
      Status deleted = Ok{};  // result of deleting older checkpoints after it
    };
    // The job writes into `done` until the job has ended.
    std::shared_ptr<Done> done = std::make_shared<Done>();
  };
  Status after_save(const Saving& saving, Status written, Next next);
  // The value for Saving::best_step. agreed_best_with_this(): the value of rank 0, on all ranks.
  int64_t best_with_this(bool extra) const;
  Result<int64_t> agreed_best_with_this(bool extra) const;
  // Logs a checkpoint that could not be deleted. The run continues.
  void after_deletion(const Status& deleted);
  Status delete_at_end();
  Status drop_extra_checkpoints();
  // Delete older checkpoints after the checkpoint of `step` was written. May be called on any thread.
  Status drop_extra_but(int64_t step) const;
  Status rotate(int64_t step, int64_t best_step) const;
  static std::vector<std::string> optimizer_states(const Session& s);
  std::string state_text(const BestModel& best) const;
  Json resume_state(bool extra, const BestModel& best) const;

  const TrainSettings& s_;
  TrainTask& task_;
  Schedule schedule_;
  int64_t done_ = 0;
  bool evaluation_due_ = false;  // true: a signal interrupted the evaluation after done_ steps
  bool trained_ = false;         // true: train() was called, so metrics include the epoch
  int64_t skipped_ = 0;          // number of skipped steps among the done_ steps
  // Steps in a row that were not finite and not solved by a lower loss scale.
  int64_t not_finite_in_row_ = 0;
  // The last rollback. to: number of updates that its checkpoint had made; -1: there was none. times: number of
  // rollbacks to this checkpoint in a row.
  struct {
    int64_t to = -1, times = 0;
  } rolled_back_;
  std::optional<LossScale> loss_scale_;
  std::optional<Plateau> plateau_;  // set if the schedule follows evaluations
  WeightAverages averages_;
  IdleSteps idle_;
  TrainLoss loss_;
  double flops_ = 0;
  int64_t tokens_seen_ = 0;
  Json history_ = Json::array();
  int64_t last_evaluated_ = -1, last_saved_ = -1;
  BestModel best_;
  Callbacks callbacks_;
  std::string continued_from_;  // the checkpoint that the run was resumed from; "": a new run
  // An entry for each time that the run was continued with other settings:
  // {"step", "settings": [{"name", "then", "now"}]}.
  Json continued_ = Json::array();
  std::shared_ptr<HostCopies> copies_;  // in-memory checkpoints; null: none are made
  std::vector<std::string> discard_;
  std::shared_ptr<RunLock> lock_;
  std::optional<Saving> saving_;
  int saves_missed_ = 0;    // failed saves in a row
  bool left_over_ = false;  // true: unfinished checkpoints may be in the folder
  // Time that training waited since train() was called. save_seconds_: for checkpoints except the last one.
  // last_save_seconds_: for the last checkpoint of the run.
  double save_seconds_ = 0, last_save_seconds_ = 0;
  Clock* clock_ = &system_clock();
  double deadline_ = std::numeric_limits<double>::infinity();  // time of clock_
};

// The schedule that the settings give, for a run of `total_steps` steps. Errors: those of Schedule::make().
Result<Schedule> make_schedule(const TrainSettings& s, int64_t total_steps);

}  // namespace hone
