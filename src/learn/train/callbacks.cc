// The listeners that settings choose: progress on the console, early stopping, TensorBoard.
#include <array>
#include <cmath>
#include <optional>

#include "base/core/log.h"
#include "base/core/process.h"
#include "learn/train/callback.h"

namespace hone {
namespace {

class Console : public TrainCallback {
 public:
  explicit Console(const TrainSettings& s) : lines_(s.disable_tqdm || !is_terminal(2)) {}

  Status on_train_begin(const RunPlace& at) override {
    bar_.emplace("training", at.total_steps, Progress::Options{.start = at.step});
    return Ok{};
  }
  void on_step_end(const RunPlace& at, const StepReport& r) override {
    std::array<char, 128> line;  // no allocation in the loop
    const auto written = fmt::format_to_n(
        line.data(), line.size(), "loss {:.4f}  {:.0f} tokens/s  {:.2f} examples/s  {:.3f} s/step",
        r.loss, static_cast<double>(r.tokens) / r.seconds, static_cast<double>(r.rows) / r.seconds,
        r.seconds / static_cast<double>(r.steps));
    bar_->update(at.step, {line.data(), std::min(written.size, line.size())});
  }
  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    if (entry.contains("eval_loss"))
      log_info("{:<11} step {}: loss {:.4f}{}", "evaluated", at.step, entry.value("eval_loss", NAN),
               entry.contains("perplexity")
                   ? fmt::format(", perplexity {:.3f}", entry.value("perplexity", NAN))
                   : "");
    else if (lines_ && entry.contains("learning_rate"))
      log_info(
          "{:<11} step {}/{} epoch {:.2f}: loss {:.4f}, gradient norm {:.3f}, learning rate {:.3g}",
          "train", at.step, at.total_steps, at.epoch, entry.value("loss", NAN),
          entry.value("grad_norm", NAN), entry.value("learning_rate", NAN));
    return Ok{};
  }
  void on_save(const RunPlace&, const std::string& checkpoint) override {
    log_info("{:<11} {}", "saved", checkpoint);
  }
  void on_train_end(const RunPlace&) override { bar_->finish(); }

 private:
  bool lines_;
  std::optional<Progress> bar_;
};

class EarlyStopping : public TrainCallback {
 public:
  explicit EarlyStopping(const TrainSettings& s)
      : metric_(*best_metric_of(s)),
        patience_(*s.early_stopping_patience),
        threshold_(s.early_stopping_threshold) {}

  Status on_evaluate(const RunPlace& at, const OrderedJson& metrics,
                     const BestModel& best) override {
    const double value = HONE_TRY(value_of(metric_, metrics));
    if (!best.metric ||
        (metric_.better(value, *best.metric) && std::abs(value - *best.metric) > threshold_))
      failed_ = 0;
    else
      ++failed_;
    if (stop())
      log_info("{:<11} after step {}: {} got no better than {:.6g} in {} evaluations", "stopping",
               at.step, metric_.name, *best.metric, failed_);
    return Ok{};
  }
  bool stop() const override { return failed_ >= patience_; }
  std::string name() const override { return "EarlyStoppingCallback"; }
  Json state() const override {
    return {{"args",
             {{"early_stopping_patience", patience_}, {"early_stopping_threshold", threshold_}}},
            {"attributes", {{"early_stopping_patience_counter", failed_}}}};
  }
  void restore(const Json& state) override {
    failed_ = state.at("attributes").at("early_stopping_patience_counter").get<int64_t>();
  }

 private:
  BestMetric metric_;
  int64_t patience_, failed_ = 0;
  double threshold_;
};

}  // namespace

std::unique_ptr<TrainCallback> make_console(const TrainSettings& s) {
  return std::make_unique<Console>(s);
}
std::unique_ptr<TrainCallback> make_early_stopping(const TrainSettings& s) {
  return std::make_unique<EarlyStopping>(s);
}

Callbacks make_callbacks(const TrainSettings& s) {
  Callbacks all;
  all.push_back(make_console(s));
  if (s.reports()) all.push_back(make_tensorboard(s));
  if (s.early_stopping_patience && best_metric_of(s)) all.push_back(make_early_stopping(s));
  return all;
}

}  // namespace hone
