// The training loop: optimizer steps, logging, evaluation, checkpoints, resume. It knows no task:
// TrainTask gives it gradients, metrics and the model's files.
//
// On several ranks every rank has a Trainer, and all take the same decisions: each follows from values
// that are equal on all of them, or rank 0 takes it for all. Rank 0 alone writes logs, results and the
// model; all write checkpoints.
//
// A run that is killed at any moment and started again with the same settings ends with the same
// bits: everything that a step depends on is a function of (seed, step, row) or in the checkpoint.
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

struct StepSums {
  double loss = 0;               // of the whole optimizer step, per label token (or row)
  int64_t tokens = 0, rows = 0;  // for pairs, tokens of the sources
  int64_t all_tokens = 0;        // for pairs, of both sides
  double grad_norm = 0;          // before clipping; of an applied update
  double data_seconds = 0;       // time that the step waited for its rows
  bool without_labels = false;   // nothing to learn, and no loss
  bool stopped = false;  // a signal came before the last micro-batch: the sums are not the step's

  bool finite() const { return std::isfinite(loss) && std::isfinite(grad_norm); }
};

// Arguments of an update besides its gradients.
struct StepUpdate {
  double rate = 0;        // the learning rate
  int64_t number = 1;     // of the update, from 1: skipped steps have none
  double loss_scale = 1;  // loss and norm of the sums are unscaled
};

// The cause of a loss or gradient that is not finite.
struct NotFiniteStep {
  std::string first;  // the value; "": every value of the step is finite
  // Places of the rows that hold it, or of all rows of its micro-batch: "train.csv:7". At most a
  // few; the last one then counts the others.
  std::vector<std::string> rows;
};

class TrainTask {
 public:
  virtual ~TrainTask() = default;
  virtual Session& session() = 0;
  virtual const StepCount& steps() const = 0;
  virtual int64_t train_rows() const = 0;

  // Runs optimizer step `step` (from 0): forward and backward of every micro-batch, and the update,
  // which changes nothing unless loss and norm are finite. Returns between micro-batches, before
  // the update, if a stop is requested.
  virtual Result<StepSums> take_step(int64_t step, const StepUpdate& update) = 0;
  // Repeats that step, which changed nothing, and checks every value.
  virtual Result<NotFiniteStep> why_not_finite(int64_t step, const StepUpdate& update) = 0;

  virtual bool can_evaluate() const = 0;
  // Metrics without the prefix "eval_": loss, accuracy, ..., and the number of rows as "samples".
  // Empty if a stop was requested before the end.
  virtual Result<OrderedJson> evaluate() = 0;
  // Values for the log besides loss, norm and rate, of the steps since the last call. All ranks call it.
  virtual Result<OrderedJson> logged() { return OrderedJson::object(); }
  // Images for the log, made since the last call.
  virtual LogMedia take_media() { return {}; }

  // Saves config and tokenizer. The trainer saves the weights that weight_names() lists.
  virtual Status save_model_files(const std::string& folder) = 0;
  // The same for the model of a run that has ended, and its tensors: an adapter may have another form than in a
  // checkpoint.
  virtual Status save_finished_files(const std::string& folder) { return save_model_files(folder); }
  virtual std::vector<TensorData> finished_tensors(std::vector<TensorData> weights) {
    return weights;
  }
  virtual std::vector<std::string> weight_names() const = 0;
  virtual std::string weights_stem() const { return "model"; }  // of their file: model.safetensors
  // A second name for that weight in a saved model; "": none.
  virtual std::string second_name(const std::string&) const { return ""; }
  // The name of a weight in a saved model.
  virtual std::string saved_name(const std::string& name) const { return name; }
  // Tensors beside the weights that a saved model has as they are.
  virtual Result<std::vector<TensorData>> other_tensors() const {
    return std::vector<TensorData>{};
  }
  virtual double flops_of_step(
      const StepSums& sums) const = 0;  // as Transformers counts total_flos
  // Names that other programs may give to a weight, best first, by its name.
  virtual std::map<std::string, std::vector<std::string>> other_names() const { return {}; }
  // The trained weights in the order in which PyTorch's optimizers number them; nullopt: it is not known.
  struct NumberedWeight {
    std::string name;
    bool decays = true;  // weight decay applies
  };
  virtual std::optional<std::vector<NumberedWeight>> numbered_weights() const { return {}; }
  // The place of the next step's rows in streamed data; null if a step's rows follow from its
  // number. Saved with a checkpoint and given back by seek(); `name` (the checkpoint) appears in
  // messages.
  virtual Json data_place() const { return nullptr; }
  virtual Status seek(const Json& place, const std::string& name) {
    (void)place, (void)name;
    return Ok{};
  }
  // Memory for a copy of everything that a checkpoint saves of the session (copied_bytes() of
  // each), to write from while steps change the states; empty: none.
  virtual std::span<std::byte> save_copy() { return {}; }
  // Facts that decide the results (ledger.h). Compared on resume.
  virtual Json fingerprint() const = 0;
};

// The start of a run, from the settings and the output folder.
struct TrainStart {
  std::string checkpoint;      // to resume; "": a new run
  std::optional<Split> split;  // of the resumed run, if the checkpoint has it
  bool finished = false;       // the folder holds a run that ended, and `checkpoint` is its last
  Json ended;                  // fingerprint of that run
  std::vector<std::string> discard;  // checkpoints of an earlier run; deleted when training begins
  std::shared_ptr<RunLock> lock;     // of the folder, from here to the end of the run
  std::shared_ptr<HostCopies> copies;  // in memory; null: none are made
  bool in_memory = false;              // `checkpoint` is the newest of them
};

struct TrainOutcome {
  OrderedJson metrics;       // train_loss, train_runtime, ...
  int stopped_by = 0;        // the signal that ended the run early, or 0
  bool out_of_time = false;  // limit_seconds() ended it early
  int64_t steps_done = 0;
};

class StepProfile;

class Trainer {
 public:
  Trainer(const TrainSettings& settings, TrainTask& task, Schedule schedule);

  // Takes the folder, and repairs the remains of a killed process in it. Errors: H2410,
  // H2403 the folder holds other files or another process trains into it, H2408 there is no
  // checkpoint and the settings require one, those of the checkpoint room.
  static Result<TrainStart> find_start(const TrainSettings& settings);

  // Training stops, as after a signal, before a step that would end later than this from now; at
  // least one step runs.
  void limit_seconds(double seconds, Clock& clock = system_clock());

  void add_callback(std::unique_ptr<TrainCallback> c) { callbacks_.push_back(std::move(c)); }

  // Restores weights, moments, place and log from the checkpoint, if there is one. True: the run
  // has ended already, perhaps by early stopping, and nothing is left to train. Errors: H2403 a run
  // with other settings, or of more steps, ended in the folder, H2405 the newest checkpoint is of other rows or another
  // model, and was not named; it comes before weights are loaded.
  Result<bool> begin(const TrainStart& start);

  // Trains to the last step, then saves the model into output_dir with trainer_state.json; with
  // --load_best_model_at_end the best one. Errors: H2406, H2411 and those of the task and the
  // callbacks. H2428, H2429. H0109 after a stop request means that stop, also in evaluate().
  Result<TrainOutcome> train();

  // Evaluates, appends to the log, returns the metrics with their prefix; empty, and nothing
  // logged, if a stop was requested before the end.
  Result<OrderedJson> evaluate();

  // The training metrics of a run that has ended (begin() returned true), from train_results.json;
  // null if that file no longer exists.
  OrderedJson ended_metrics() const;
  // Loads the weights of the model in the output folder, to evaluate it or to predict with it.
  Status load_ended();

  // Writes train_results.json or eval_results.json and merges them into all_results.json.
  Status write_results(const std::string& which, const OrderedJson& metrics);
  Status write_state();
  // Marks the output folder as finished. H2429.
  Status finish();

 private:
  static Result<TrainStart> find_in_folder(const TrainSettings& settings, const HostCopies* copies);
  Result<ResumeState> open_verified(const std::string& checkpoint) const;
  Status resume(const TrainStart& start);
  // `in_memory`: weights have the names of the session.
  Status load_states(const ResumeState& from, const std::string& checkpoint, bool in_memory);
  // Restores everything but tensors. H2405: the state cannot be read.
  Status restore(const ResumeState& from, const std::string& checkpoint);
  void note_continued(const Json& now, const std::vector<Difference>& differ);
  Json run_facts() const;  // the fingerprint, and how the run was continued
  int64_t steps_of(double interval) const;
  bool every(double interval, int64_t step) const;
  // After step done_:
  bool ends_epoch() const;
  bool log_is_due() const;
  bool evaluation_is_due() const;
  bool save_is_due(bool new_best) const;
  RunPlace place() const;
  Status log_step(double rate, double grad_norm);
  Status append_log(const OrderedJson& logs);  // and calls the callbacks
  Result<bool> evaluate_in_training();         // true: the best so far
  // Parts of train(), which counts in a Progress.
  struct Progress {
    int64_t first = 0;  // step at which train() was called
    double begun = 0;   // time of the call, in seconds
    int64_t tokens = 0, rows = 0;
    double step_seconds = 0;  // of the last step
    double data_seconds = 0;  // that steps waited for rows
  };
  Status take_folder();
  Status evaluate_first();
  Status run_steps(StepProfile& profile, Progress& p, TrainOutcome& outcome);
  Result<bool> out_of_time(const Progress& p);  // for one more step
  Result<std::optional<StepSums>> take_step(const StepUpdate& update);
  void count_step(const StepSums& sums, double seconds, Progress& p);
  OrderedJson train_metrics(const Progress& p) const;
  bool stops_early() const;
  // Puts averages of the weights in their places, if there are any and they are not there yet; true: it did.
  Result<bool> use_averages();
  Status leave_averages(bool used);
  Status after_loading(int64_t updates);  // of a checkpoint
  StepUpdate next_update() const;
  Status not_finite(const StepSums& sums);          // Ok: the step counts; an Error ends the run
  Status roll_back(Error why);                      // the same
  Result<std::string> newest_to_roll_back() const;  // a checkpoint; "": none
  Error why_not_finite(const StepSums& sums);       // H2406, or why the cause cannot be found
  // H2403, H2429 with the checkpoint of the current state in another folder.
  Status check_folder();
  Status keep_elsewhere(Error why);
  std::string checkpoint_path(int64_t step) const;
  Status load_best();
  Status save_model();
  // `extra`: saved only because the run stops here. It does not count for save_total_limit, and is
  // deleted after the next one or the end of the run.
  // In a bucket it is written while training continues. The next update waits until the states are
  // copied; without memory for the copy, until they are written. finish_save() waits for the end
  // and calls the callbacks. A checkpoint that cannot be written is skipped; kSavesMissed in a row
  // are fatal. `last`: no step follows.
  Status save_checkpoint(bool extra, bool last);
  // The work after the save that finish_save() ends. last_save: the last save of a run, which is
  // tried even after kSavesMissed failures.
  enum class Next { steps, last_save, end };
  Status finish_save(Next next);
  // save_checkpoint() and finish_save(), with their time added to save_seconds_ or
  // last_save_seconds_.
  Status save_in_training(bool extra, bool last);
  // A copy in memory, for a start after a crash (host_copies.h). If memory takes none, the run continues
  // without.
  bool memory_save_is_due() const;
  Status save_in_memory();
  Status finish_in_training(bool last);
  double save_seconds() const;  // time that steps waited for checkpoints, including the current one
  struct Saving {
    std::unique_ptr<BackgroundSave> job;  // null: it was written at once
    RunPlace place;
    std::string path;
    bool extra = false;
    int64_t best_step = 0;  // BestModel::checkpoint_step once it is written
    struct Done {
      double seconds = 0;     // writing time
      Status deleted = Ok{};  // result of deleting older checkpoints after it
    };
    std::shared_ptr<Done> done = std::make_shared<Done>();  // the job's, until it has ended
  };
  Status after_save(const Saving& saving, Status written, Next next);
  int64_t best_with_this(bool extra) const;  // that best_step
  Result<int64_t> agreed_best_with_this(bool extra) const;
  // A checkpoint that could not be deleted is logged; the run continues.
  void after_deletion(const Status& deleted);
  Status delete_at_end();
  Status drop_extra_checkpoints();
  // Deletes older checkpoints after the checkpoint of `step` was written; from any thread.
  Status drop_extra_but(int64_t step) const;
  Status rotate(int64_t step, int64_t best_step) const;
  static std::vector<std::string> optimizer_states(const Session& s);
  std::string state_text(const BestModel& best) const;
  Json resume_state(bool extra, const BestModel& best) const;

  const TrainSettings& s_;
  TrainTask& task_;
  Schedule schedule_;
  int64_t done_ = 0;
  bool evaluation_due_ = false;    // a signal cut short the evaluation after step done_
  bool trained_ = false;           // train() was called: metrics say the epoch
  int64_t skipped_ = 0;            // of the steps done
  int64_t not_finite_in_row_ = 0;  // not solved by a lower loss scale
  struct {
    int64_t to = -1, times = 0;  // updates made then; times in a row
  } rolled_back_;
  std::optional<LossScale> loss_scale_;
  std::optional<Plateau> plateau_;  // of a schedule that follows evaluations
  WeightAverages averages_;
  IdleSteps idle_;
  TrainLoss loss_;
  double flops_ = 0;
  int64_t tokens_seen_ = 0;
  Json history_ = Json::array();
  int64_t last_evaluated_ = -1, last_saved_ = -1;
  BestModel best_;
  Callbacks callbacks_;
  std::string continued_from_;  // the checkpoint, or ""
  // Each time that the run was continued with other settings: {"step", "settings": [{"name", "then", "now"}]}.
  Json continued_ = Json::array();
  std::shared_ptr<HostCopies> copies_;  // in memory; null: none are made
  std::vector<std::string> discard_;
  std::shared_ptr<RunLock> lock_;
  std::optional<Saving> saving_;
  int saves_missed_ = 0;                             // in a row
  bool left_over_ = false;                           // parts of checkpoints may be in the folder
  double save_seconds_ = 0, last_save_seconds_ = 0;  // waits of training since train()
  Clock* clock_ = &system_clock();
  double deadline_ = std::numeric_limits<double>::infinity();  // of clock_
};

Result<Schedule> make_schedule(const TrainSettings& s, int64_t total_steps);

}  // namespace hone
