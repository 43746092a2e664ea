// A step whose loss or gradients are not finite. Its update changed nothing.
#include "base/core/log.h"
#include "learn/train/errors.h"
#include "learn/train/run_ranks.h"
#include "learn/train/trainer.h"

namespace hone {

// As Trainer and Accelerate count: a step that is skipped is a step of the run and of the data, but
// neither of the schedule nor of the optimizer.
StepUpdate Trainer::next_update() const {
  const int64_t made = done_ - skipped_;
  return {plateau_ ? plateau_->rate() : schedule_.rate(made), made + 1,
          loss_scale_ ? loss_scale_->value() : 1};
}

namespace {

// "the loss of step 3 is nan; ... (train.csv:7)"
std::string in_one_line(const Error& why) {
  return why.where().empty() ? why.what()
                             : fmt::format("{} ({})", why.what(), fmt::join(why.where(), ", "));
}

}  // namespace

Status Trainer::not_finite(const StepSums& sums) {
  const std::string policy = s_.non_finite_policy();
  // The scale reaches the gradients alone; GradScaler tries a smaller one all the same.
  if (loss_scale_ && (std::isfinite(sums.loss) || policy == "skip")) {
    const double tried = loss_scale_->value();
    if (loss_scale_->step_overflowed()) {
      log_info(
          "{:<11} step {}: the {} overflowed with the loss scale {:.9g}; the next one is {:.9g}",
          "skipped", done_ + 1, std::isfinite(sums.loss) ? "gradients" : "loss", tried,
          loss_scale_->value());
      ++skipped_;
      return Ok{};
    }
  }
  Error why = why_not_finite(sums);
  if (policy == "rollback") return roll_back(std::move(why));
  if (policy != "skip") return why;
  if (loss_scale_ && loss_scale_->dynamic())
    return std::move(
        why.at(fmt::format("--min_loss_scale {:.9g}, which is reached", loss_scale_->value())));
  if (++not_finite_in_row_ > s_.non_finite_patience)
    return std::move(why.at(fmt::format("--non_finite_patience {}: {} steps in a row",
                                        s_.non_finite_patience, not_finite_in_row_)));
  log_warning("step {} is skipped: {}", done_ + 1, in_one_line(why));
  ++skipped_;
  return Ok{};
}

Result<std::string> Trainer::newest_to_roll_back() const {
  const Json path = HONE_TRY(s_.ranks->decide("the newest checkpoint", [&]() -> Result<Json> {
    std::string newest = continued_from_;
    int64_t step = -1;
    for (const CheckpointInfo& c : HONE_TRY(find_checkpoints(s_.output_dir)))
      if (c.by_hone && c.resumable && c.step <= done_ && c.step > step) {
        newest = c.path;
        step = c.step;
      }
    return Json(newest);
  }));
  return path.get<std::string>();
}

// Weights, optimizer states and loss scale become those of the newest checkpoint; the number of the
// step stays, and with it the place in the data. So the rows since that checkpoint are not used
// again (as Chowdhery et al., "PaLM", JMLR 2023, section 5.1, pass over the batches of a spike),
// and neither the schedule nor the optimizer counts their steps.
Status Trainer::roll_back(Error why) {
  HONE_TRY(finish_save(Next::steps));
  const std::string path = HONE_TRY(newest_to_roll_back());
  if (path.empty()) return std::move(why.at("--non_finite rollback: there is no checkpoint yet"));
  const CheckpointInfo newest = HONE_TRY(inspect_checkpoint(path));
  const ResumeState from = HONE_TRY(open_verified(path));
  const int64_t made = newest.step - from.state.value("skipped_steps", int64_t{0});
  rolled_back_.times = made == rolled_back_.to ? rolled_back_.times + 1 : 1;
  rolled_back_.to = made;
  if (rolled_back_.times > s_.non_finite_patience)
    return std::move(
        why.at(fmt::format("--non_finite_patience {}: back at the weights of {} once more",
                           s_.non_finite_patience, newest.path)));
  HONE_TRY(load_states(from, newest.path, false));
  HONE_TRY(after_loading(made));
  skipped_ = done_ + 1 - made;
  not_finite_in_row_ = 0;
  if (loss_scale_) loss_scale_->restore(from.state.value("loss_scale", Json()));
  log_warning(
      "{}; weights and optimizer states are those of {} again, and the rows of {} are skipped",
      in_one_line(why), newest.path,
      newest.step == done_ ? fmt::format("step {}", done_ + 1)
                           : fmt::format("the steps {} to {}", newest.step + 1, done_ + 1));
  return Ok{};
}

Error Trainer::why_not_finite(const StepSums& sums) {
  Result<NotFiniteStep> found = task_.why_not_finite(done_, next_update());
  if (!found.ok()) return std::move(found.error());
  const NotFiniteStep& why = *found;
  const bool loss = !std::isfinite(sums.loss);
  const double value = loss ? sums.loss : sums.grad_norm;
  Error e(err::kNotFinite,
          fmt::format("the {} of step {} is {}; {}", loss ? "loss" : "gradient norm", done_ + 1,
                      std::isnan(value) ? std::abs(value) : value,  // never "-nan"
                      why.first.empty() ? "no earlier value that is not finite was found"
                                        : "the first value that is not finite: " + why.first));
  for (const std::string& row : why.rows) e.at(row);
  return std::move(
      e.todo(fmt::format("use {}a smaller --learning_rate or more --warmup_steps{}",
                         s_.fp16 ? "--bf16, which holds larger values, or " : "",
                         last_saved_ > 0 ? "; the last checkpoint is unchanged" : "")));
}

}  // namespace hone
