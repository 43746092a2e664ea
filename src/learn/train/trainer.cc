#include "learn/train/trainer.h"

#include <algorithm>
#include <cmath>

#include "base/core/log.h"
#include "learn/checkpoint/output_dir.h"
#include "learn/train/errors.h"
#include "learn/train/run_ranks.h"
#include "learn/train/trainer_support.h"

namespace hone {

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
  const ScheduleForm* form = find_schedule(settings.lr_scheduler_type);
  if (form != nullptr && form->follows_evaluations)
    plateau_.emplace(settings.learning_rate, settings.lr_scheduler_kwargs);
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

Result<bool> Trainer::use_averages() {
  if (!averages_.any() || averages_.in_use() || done_ == skipped_) return false;
  HONE_TRY(averages_.exchange());
  return true;
}

Status Trainer::leave_averages(bool used) { return used ? averages_.exchange() : Status(Ok{}); }

Status Trainer::after_loading(int64_t updates) {
  if (!averages_.any() || updates == 0) return Ok{};
  averages_.were_loaded();
  return averages_.exchange();
}

Result<OrderedJson> Trainer::evaluate() {
  for (const auto& c : callbacks_) c->on_evaluate_begin(place());
  const double start = clock_->seconds();
  const bool averages = HONE_TRY(use_averages());
  Result<OrderedJson> made = task_.evaluate();
  HONE_TRY(leave_averages(averages));
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
  if (plateau_)
    plateau_->evaluated(HONE_TRY(value_of(metric.value_or(BestMetric{"eval_loss"}), metrics)));
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
  if (const LogMedia media = task_.take_media(); !media.empty())
    for (const auto& c : callbacks_) c->on_media(place(), media);
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
  const OrderedJson more = HONE_TRY(task_.logged());
  for (const auto& [name, value] : more.items()) entry[name] = value;
  return append_log(entry);
}

Status Trainer::write_state() {
  if (!s_.ranks->leads()) return Ok{};
  HONE_TRY(check_folder());
  return file_store().write(s_.output_dir + "/" + kTrainerStateFile, state_text(best_));
}

Status Trainer::finish() {
  if (!s_.ranks->leads()) return Ok{};
  HONE_TRY(check_folder());
  HONE_TRY(mark_run(s_.output_dir, true, run_facts()));
  return check_folder();
}

Status Trainer::write_results(const std::string& which, const OrderedJson& metrics) {
  if (!s_.ranks->leads()) return Ok{};
  HONE_TRY(check_folder());
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
