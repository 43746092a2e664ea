#include "learn/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "base/core/signals.h"
#include "base/store/errors.h"
#include "learn/checkpoint/output_dir.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/errors.h"
#include "learn/train/log_folder.h"
#include "learn/train/step_profile.h"

namespace hone {
namespace {

double round_to(double x, double digits) { return std::round(x * digits) / digits; }

// A request to stop cut short what was being read.
bool is_cut_short(const Error& e) { return stop_signal() && e.is(err::kInterrupted); }

}  // namespace

Result<Schedule> make_schedule(const TrainSettings& s, int64_t total_steps) {
  return Schedule::make({s.lr_scheduler_type, s.learning_rate,
                         resolve_warmup(s.warmup_steps, s.warmup_ratio, total_steps), total_steps,
                         s.lr_scheduler_kwargs});
}

Trainer::Trainer(const TrainSettings& settings, TrainTask& task, Schedule schedule)
    : s_(settings),
      task_(task),
      schedule_(std::move(schedule)),
      callbacks_(make_callbacks(settings)) {
  if (const auto options = settings.loss_scale_options()) loss_scale_.emplace(*options);
}

void Trainer::limit_seconds(double seconds, Clock& clock) {
  clock_ = &clock;
  deadline_ = clock.seconds() + seconds;
}

// An interval of settings as whole steps; 0: never.
int64_t Trainer::steps_of(double interval) const {
  if (interval <= 0) return 0;
  const double total = static_cast<double>(task_.steps().total_steps());
  return std::max<int64_t>(
      1, static_cast<int64_t>(interval < 1 ? std::ceil(interval * total) : interval));
}

bool Trainer::every(double interval, int64_t step) const {
  const int64_t steps = steps_of(interval);
  return steps > 0 && step % steps == 0;
}

Result<OrderedJson> Trainer::evaluate() {
  const double start = clock_->seconds();
  Result<OrderedJson> made = task_.evaluate();
  if (!made.ok() && !is_cut_short(made.error())) return std::move(made.error());
  const OrderedJson got = made.ok() ? std::move(*made) : OrderedJson::object();
  evaluation_due_ = got.empty();
  if (evaluation_due_) return got;
  const double seconds = clock_->seconds() - start, rows = got.value("samples", 0.0);
  OrderedJson m;
  if (trained_) m["epoch"] = task_.steps().epoch_after(done_);
  for (const auto& [key, value] : got.items()) m[key == "perplexity" ? key : "eval_" + key] = value;
  m["eval_runtime"] = round_to(seconds, 1e4);
  m["eval_samples_per_second"] = round_to(rows / seconds, 1e3);
  m["eval_steps_per_second"] =
      round_to(std::ceil(rows / static_cast<double>(s_.per_device_eval_batch_size)) / seconds, 1e3);
  last_evaluated_ = done_;
  HONE_TRY(append_log(m));
  return m;
}

Result<bool> Trainer::evaluate_in_training() {
  const OrderedJson metrics = HONE_TRY(evaluate());
  if (metrics.empty()) return false;
  for (const auto& c : callbacks_) HONE_TRY(c->on_evaluate(place(), metrics, best_));
  const std::optional<BestMetric> metric = best_metric_of(s_);
  if (!metric) return false;
  const double value = HONE_TRY(value_of(*metric, metrics));
  if (std::isnan(value) || (best_.metric && !metric->better(value, *best_.metric))) return false;
  best_.metric = value;
  if (s_.save_strategy != "no") best_.step = done_;
  return true;
}

bool Trainer::stops_early() const {
  return std::any_of(callbacks_.begin(), callbacks_.end(), [](const auto& c) { return c->stop(); });
}

RunPlace Trainer::place() const {
  return {done_, task_.steps().total_steps(), task_.steps().epoch_after(done_)};
}

Status Trainer::append_log(const OrderedJson& logs) {
  OrderedJson entry = logs;
  entry["step"] = done_;
  history_.push_back(Json(entry));
  for (const auto& c : callbacks_) HONE_TRY(c->on_log(place(), logs));
  return Ok{};
}

Status Trainer::log_step(double rate, double grad_norm) {
  OrderedJson entry;
  entry["epoch"] = task_.steps().epoch_after(done_);
  entry["grad_norm"] = std::isnan(grad_norm) ? std::abs(grad_norm) : grad_norm;  // never "-nan"
  entry["learning_rate"] = rate;
  entry["loss"] = loss_.take_mean();
  if (loss_scale_) entry["loss_scale"] = loss_scale_->value();
  if (loss_scale_ || skipped_ > 0) entry["skipped_steps"] = skipped_;
  return append_log(entry);
}

Result<TrainOutcome> Trainer::train() {
  const StepCount& steps = task_.steps();
  const int64_t total = steps.total_steps(), first = done_;
  lock_.emplace(HONE_TRY(RunLock::take(s_.output_dir)));
  HONE_TRY(mark_run(s_.output_dir, false, task_.fingerprint()));
  HONE_TRY(clean_leftovers(s_.output_dir));
  if (!discard_.empty())
    log_warning(
        "checkpoints of an earlier run in '{}' are deleted, {} of them: this run starts again",
        s_.output_dir, discard_.size());
  for (const std::string& checkpoint : discard_) HONE_TRY(delete_checkpoint(checkpoint));
  discard_.clear();

  trained_ = true;
  StepProfile profile(log_folder(s_), HONE_TRY(profiled_steps(s_)));
  TrainOutcome outcome;
  const double start = clock_->seconds();
  int64_t tokens = 0, rows = 0;
  double step_seconds = 0;  // of the last one
  double data_seconds = 0;
  save_seconds_ = last_save_seconds_ = 0;
  for (const auto& c : callbacks_) HONE_TRY(c->on_train_begin(place()));
  auto save_is_due = [&](bool end_of_epoch, bool new_best) {
    if (s_.save_strategy == "best") return new_best;
    return s_.save_strategy == "epoch"
               ? end_of_epoch
               : s_.save_strategy == "steps" && (every(s_.save_steps, done_) || done_ == total);
  };
  auto ends_epoch = [&] { return done_ == total || done_ % steps.steps_per_epoch() == 0; };
  if (s_.eval_on_start && done_ == 0 && task_.can_evaluate()) HONE_TRY(evaluate());
  if (evaluation_due_ && done_ > 0 && task_.can_evaluate()) {
    const bool new_best = HONE_TRY(evaluate_in_training());
    if (save_is_due(ends_epoch(), new_best) && !evaluation_due_) {
      last_saved_ = -1;  // its log lacks the evaluation
      HONE_TRY(save_in_training(false, done_ == total));
    }
  }
  outcome.stopped_by = stop_signal();  // it may have come while data were read: nothing to save
  while (done_ < total && !outcome.stopped_by && !stops_early()) {
    if (done_ > first && clock_->seconds() + step_seconds > deadline_) {
      outcome.out_of_time = true;
      HONE_TRY(save_in_training(true, true));
      break;
    }
    const StepUpdate update = next_update();
    profile.before_step(task_.session(), done_);
    const double begun = clock_->seconds();
    Result<StepSums> taken = task_.take_step(done_, update);
    // Rows are read before anything is computed.
    if (!taken.ok() && !is_cut_short(taken.error())) return std::move(taken.error());
    if (Status works = task_.session().check(); !works.ok())
      return std::move(works.error())
          .todo(
              "the last checkpoint is unchanged: the same command continues from it; "
              "--offload_optimizer_nvme_path names a folder on another disk");
    if (!taken.ok() || (taken->stopped && done_ > 0)) {
      outcome.stopped_by = stop_signal();
      if (done_ > 0) HONE_TRY(save_in_training(true, true));
      break;
    }
    const StepSums& sums = *taken;
    if (!sums.finite()) {
      HONE_TRY(not_finite(sums));
    } else {
      not_finite_in_row_ = 0;
      if (loss_scale_) loss_scale_->step_was_finite();
    }
    HONE_TRY(profile.after_step(task_.session(), done_));
    HONE_TRY(lock_->check());
    if (saving_ && !stop_signal() && saving_->job->ended()) HONE_TRY(finish_in_training(false));
    ++done_;
    step_seconds = clock_->seconds() - begun;
    const double loss =
        sums.without_labels || !std::isfinite(sums.loss) ? loss_.loss_without_labels() : sums.loss;
    loss_.add(loss);
    flops_ += task_.flops_of_step(sums);
    tokens += sums.tokens;
    rows += sums.rows;
    tokens_seen_ += sums.tokens;
    data_seconds += sums.data_seconds;

    const bool last = done_ == total, end_of_epoch = ends_epoch();
    for (const auto& c : callbacks_)
      c->on_step_end(place(), {loss, clock_->seconds() - start, done_ - first, tokens, rows,
                               step_seconds, data_seconds, save_seconds()});
    if (s_.logging_strategy == "epoch"
            ? end_of_epoch
            : s_.logging_strategy == "steps" &&
                  (every(s_.logging_steps, done_) || (s_.logging_first_step && done_ == 1)))
      HONE_TRY(log_step(update.rate, sums.grad_norm));
    bool new_best = false;
    const double eval_steps = s_.eval_steps > 0 ? s_.eval_steps : s_.logging_steps;
    const double waited =
        s_.eval_strategy == "epoch" ? task_.steps().epoch_after(done_) : static_cast<double>(done_);
    if (task_.can_evaluate() && waited >= s_.eval_delay &&
        (s_.eval_strategy == "epoch"
             ? end_of_epoch
             : s_.eval_strategy == "steps" && (every(eval_steps, done_) || last)))
      new_best = HONE_TRY(evaluate_in_training());
    outcome.stopped_by = stop_signal();
    const bool due = save_is_due(end_of_epoch, new_best);
    if (due || outcome.stopped_by)
      HONE_TRY(save_in_training(!due, last || outcome.stopped_by || stops_early()));
    if (outcome.stopped_by) break;
  }
  HONE_TRY(finish_in_training(true));
  for (const auto& c : callbacks_) c->on_train_end(place());
  const double seconds = clock_->seconds() - start;
  outcome.steps_done = done_ - first;
  OrderedJson m;
  m["epoch"] = steps.epoch_after(done_);
  m["total_flos"] = flops_;
  m["train_loss"] = done_ > 0 ? loss_.run_mean() : 0.0;
  if (loss_scale_ || skipped_ > 0) m["train_skipped_steps"] = skipped_;
  m["train_runtime"] = round_to(seconds, 1e4);
  m["train_samples"] = task_.train_rows();
  m["train_samples_per_second"] = round_to(static_cast<double>(rows) / seconds, 1e3);
  m["train_steps_per_second"] = round_to(static_cast<double>(outcome.steps_done) / seconds, 1e3);
  m["train_seconds_per_step"] =
      outcome.steps_done ? round_to(seconds / static_cast<double>(outcome.steps_done), 1e4) : 0.0;
  m["train_tokens_per_second"] = round_to(static_cast<double>(tokens) / seconds, 1e3);
  m["train_data_wait_seconds"] = round_to(data_seconds, 1e4);
  m["train_save_wait_seconds"] = round_to(save_seconds(), 1e4);
  m["train_last_save_seconds"] = round_to(last_save_seconds_, 1e4);
  HONE_TRY(append_log(m));
  outcome.metrics = m;
  if (outcome.out_of_time) {
    log_info("{:<11} out of time after step {} of {}; the same command continues", "stopped", done_,
             total);
    return outcome;
  }
  if (outcome.stopped_by) {
    log_info("{:<11} by a signal after step {} of {}; the same command continues", "stopped", done_,
             total);
    return outcome;
  }
  if (s_.load_best_model_at_end) HONE_TRY(load_best());
  HONE_TRY(save_model());
  HONE_TRY(write_state());
  after_deletion(delete_at_end());
  return outcome;
}

Status Trainer::write_state() const {
  return file_store().write(s_.output_dir + "/" + kTrainerStateFile, state_text(best_));
}

Status Trainer::finish() const { return mark_run(s_.output_dir, true, task_.fingerprint()); }

Status Trainer::write_results(const std::string& which, const OrderedJson& metrics) {
  Store& store = file_store();
  HONE_TRY(store.make_dirs(s_.output_dir));
  const JsonStyle style{.indent = 4};
  const Json sorted(metrics);
  HONE_TRY(store.write(fmt::format("{}/{}_results.json", s_.output_dir, which),
                       dump_json(sorted, style) + "\n"));
  const std::string all = s_.output_dir + "/all_results.json";
  Json together = Json::object();
  if (Result<Json> before = read_json_file(all); before && before->is_object()) together = *before;
  together.update(sorted);
  return store.write(all, dump_json(together, style) + "\n");
}

}  // namespace hone
