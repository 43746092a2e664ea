// The loop of training.
#include <cmath>

#include "base/core/log.h"
#include "learn/checkpoint/output_dir.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/log_folder.h"
#include "learn/train/run_ranks.h"
#include "learn/train/step_profile.h"
#include "learn/train/trainer.h"
#include "learn/train/trainer_support.h"

namespace hone {

// Takes the output folder for this run and deletes what an earlier one left.
Status Trainer::take_folder() {
  if (!s_.ranks->leads()) return Ok{};
  if (!lock_) lock_ = std::make_shared<RunLock>(HONE_TRY(RunLock::take(s_.output_dir)));
  HONE_TRY(mark_run(s_.output_dir, false, run_facts()));
  HONE_TRY(clean_leftovers(s_.output_dir));
  if (!discard_.empty())
    log_warning(
        "checkpoints of an earlier run in '{}' are deleted, {} of them: this run starts again",
        s_.output_dir, discard_.size());
  for (const std::string& checkpoint : discard_) HONE_TRY(delete_checkpoint(checkpoint));
  discard_.clear();
  return Ok{};
}

bool Trainer::ends_epoch() const {
  return done_ == task_.steps().total_steps() || done_ % task_.steps().steps_per_epoch() == 0;
}

bool Trainer::log_is_due() const {
  if (s_.logging_strategy == "epoch") return ends_epoch();
  return s_.logging_strategy == "steps" &&
         (every(s_.logging_interval(task_.steps().total_steps()), done_) ||
          (s_.logging_first_step && done_ == 1));
}

bool Trainer::evaluation_is_due() const {
  const bool by_epoch = s_.eval_strategy == "epoch";
  const double waited = by_epoch ? task_.steps().epoch_after(done_) : static_cast<double>(done_);
  if (!task_.can_evaluate() || waited < s_.eval_delay) return false;
  if (by_epoch) return ends_epoch();
  const double steps = s_.evaluation_interval();
  return s_.eval_strategy == "steps" &&
         (every(steps, done_) || done_ == task_.steps().total_steps());
}

bool Trainer::save_is_due(bool new_best) const {
  if (s_.save_strategy == "best") return new_best;
  if (s_.save_strategy == "epoch") return ends_epoch();
  return s_.save_strategy == "steps" &&
         (every(s_.save_steps, done_) || done_ == task_.steps().total_steps());
}

// The evaluation before the first step, or the one that a signal cut short.
Status Trainer::evaluate_first() {
  if (s_.eval_on_start && done_ == 0 && task_.can_evaluate()) HONE_TRY(evaluate());
  if (!evaluation_due_ || done_ == 0 || !task_.can_evaluate()) return Ok{};
  const bool new_best = HONE_TRY(evaluate_in_training());
  if (!save_is_due(new_best) || evaluation_due_) return Ok{};
  last_saved_ = -1;  // its log lacks the evaluation
  return save_in_training(false, done_ == task_.steps().total_steps());
}

// The next step; null if a stop was requested before its end.
Result<std::optional<StepSums>> Trainer::take_step(const StepUpdate& update) {
  Result<StepSums> taken = task_.take_step(done_, update);
  // Rows are read before anything is computed.
  if (!taken.ok() && !is_cut_short(taken.error())) return std::move(taken.error());
  if (Status works = task_.session().check(); !works.ok())
    return std::move(works.error())
        .todo(
            "the last checkpoint is as it was: the same command continues from it; "
            "--offload_optimizer_nvme_path names a folder on another disk");
  if (!taken.ok() || (taken->stopped && done_ > 0)) return std::optional<StepSums>();
  return std::optional(std::move(*taken));
}

// Counts the step that was taken, and tells the callbacks.
void Trainer::count_step(const StepSums& sums, double seconds, Progress& p) {
  ++done_;
  s_.ranks->end_step(done_, seconds);
  p.step_seconds = seconds;
  const double loss =
      sums.without_labels || !std::isfinite(sums.loss) ? loss_.loss_without_labels() : sums.loss;
  loss_.add(loss);
  flops_ += task_.flops_of_step(sums);
  p.tokens += sums.tokens;
  p.rows += sums.rows;
  tokens_seen_ += sums.tokens;
  p.data_seconds += sums.data_seconds;
  for (const auto& c : callbacks_)
    c->on_step_end(place(), {loss, clock_->seconds() - p.begun, done_ - p.first, p.tokens, p.rows,
                             p.step_seconds, p.data_seconds, save_seconds()});
}

Result<bool> Trainer::out_of_time(const Progress& p) {
  if (done_ == p.first || std::isinf(deadline_)) return false;
  const Json late = HONE_TRY(s_.ranks->decide("the time that is left", [&]() -> Result<Json> {
    return Json(clock_->seconds() + p.step_seconds > deadline_);
  }));
  return late.get<bool>();
}

// Steps to the last one, or until something ends the run early.
Status Trainer::run_steps(StepProfile& profile, Progress& p, TrainOutcome& outcome) {
  const int64_t total = task_.steps().total_steps();
  while (done_ < total && !outcome.stopped_by && !stops_early()) {
    if (HONE_TRY(out_of_time(p))) {
      outcome.out_of_time = true;
      return save_in_training(true, true);
    }
    const StepUpdate update = next_update();
    profile.before_step(task_.session(), done_);
    const double begun = clock_->seconds();
    const std::optional<StepSums> sums = HONE_TRY(take_step(update));
    if (!sums) {
      outcome.stopped_by = stop_signal();
      return done_ > 0 ? save_in_training(true, true) : Status(Ok{});
    }
    if (!sums->finite()) {
      HONE_TRY(not_finite(*sums));
    } else {
      not_finite_in_row_ = 0;
      if (loss_scale_) loss_scale_->step_was_finite();
    }
    HONE_TRY(profile.after_step(task_.session(), done_));
    if (saving_ && !stop_signal() && saving_->job->ended()) HONE_TRY(finish_in_training(false));
    count_step(*sums, clock_->seconds() - begun, p);
    HONE_TRY(check_folder());
    const auto loss = sums->without_labels ? std::optional<double>() : sums->loss;
    HONE_TRY(idle_.add(s_, loss, done_, total));
    if (log_is_due()) HONE_TRY(log_step(update.rate, sums->grad_norm));
    const bool new_best = evaluation_is_due() && HONE_TRY(evaluate_in_training());
    outcome.stopped_by = stop_signal();
    const bool due = save_is_due(new_best);
    if (due || outcome.stopped_by)
      HONE_TRY(save_in_training(!due, done_ == total || outcome.stopped_by || stops_early()));
    if (!outcome.stopped_by && memory_save_is_due()) HONE_TRY(save_in_memory());
  }
  return Ok{};
}

OrderedJson Trainer::train_metrics(const Progress& p) const {
  const double seconds = clock_->seconds() - p.begun;
  const int64_t steps_done = done_ - p.first;
  OrderedJson m;
  m["epoch"] = task_.steps().epoch_after(done_);
  m["total_flos"] = flops_;
  m["train_loss"] = done_ > 0 ? loss_.run_mean() : 0.0;
  if (loss_scale_ || skipped_ > 0) m["train_skipped_steps"] = skipped_;
  m["train_runtime"] = round_to(seconds, 1e4);
  m["train_samples"] = task_.train_rows();
  m["train_samples_per_second"] = round_to(static_cast<double>(p.rows) / seconds, 1e3);
  m["train_steps_per_second"] = round_to(static_cast<double>(steps_done) / seconds, 1e3);
  m["train_seconds_per_step"] =
      steps_done ? round_to(seconds / static_cast<double>(steps_done), 1e4) : 0.0;
  m["train_tokens_per_second"] = round_to(static_cast<double>(p.tokens) / seconds, 1e3);
  m["train_data_wait_seconds"] = round_to(p.data_seconds, 1e4);
  m["train_save_wait_seconds"] = round_to(save_seconds(), 1e4);
  m["train_last_save_seconds"] = round_to(last_save_seconds_, 1e4);
  return m;
}

Result<TrainOutcome> Trainer::train() {
  HONE_TRY(take_folder());
  trained_ = true;
  const ProfiledSteps profiled = HONE_TRY(profiled_steps(s_));
  StepProfile profile(log_folder(s_), s_.ranks->leads() ? profiled : ProfiledSteps());
  save_seconds_ = last_save_seconds_ = 0;
  Progress p{.first = done_, .begun = clock_->seconds()};
  TrainOutcome outcome;
  if (s_.logging_strategy == "steps" && s_.logging_steps == 0)
    log_info("{:<11} an entry every {} of {} steps (--logging_steps)", "log",
             steps_of(s_.logging_interval(task_.steps().total_steps())),
             task_.steps().total_steps());
  for (const auto& c : callbacks_) HONE_TRY(c->on_train_begin(place()));
  HONE_TRY(evaluate_first());
  outcome.stopped_by = stop_signal();  // it may have come while data were read: nothing to save
  HONE_TRY(run_steps(profile, p, outcome));
  HONE_TRY(finish_in_training(true));
  for (const auto& c : callbacks_) c->on_train_end(place());
  outcome.steps_done = done_ - p.first;
  outcome.metrics = train_metrics(p);
  HONE_TRY(append_log(outcome.metrics));
  if (outcome.out_of_time || outcome.stopped_by) {
    log_info("{:<11} {} after step {} of {}; the same command continues", "stopped",
             outcome.out_of_time ? "out of time" : "by a signal", done_,
             task_.steps().total_steps());
    return outcome;
  }
  if (s_.load_best_model_at_end) HONE_TRY(load_best());
  HONE_TRY(use_averages());  // to the end
  HONE_TRY(check_folder());
  HONE_TRY(save_model());
  HONE_TRY(write_state());
  if (s_.ranks->leads()) after_deletion(delete_at_end());
  return outcome;
}

}  // namespace hone
