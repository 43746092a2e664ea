// The listeners that settings choose: progress on the console, early stopping.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "base/core/log.h"
#include "learn/train/callback.h"

namespace hone {
namespace {

class Console : public TrainCallback {
 public:
  explicit Console(const TrainSettings& s) : metric_(best_metric_of(s)), plain_(s.disable_tqdm) {}

  Status on_train_begin(const RunPlace& at) override {
    bar_.emplace("training", at.total_steps,
                 Progress::Options{.force_terminal = plain_ ? 0 : -1, .start = at.step});
    training_ = true;
    return Ok{};
  }
  void on_step_end(const RunPlace& at, const StepReport& r) override {
    std::array<char, 64> line;  // no allocation in the loop
    auto written = fmt::format_to_n(line.data(), line.size(), "loss {:.4f}", r.loss);
    // A row of another kind, such as an image, is one token. The speed of the last step stays on the screen beside that
    // of the whole run: it is left out.
    if (at.step < at.total_steps)
      written = fmt::format_to_n(line.data(), line.size(), "loss {:.4f}  {:.0f} {}/s", r.loss,
                                 static_cast<double>(r.tokens) / r.seconds,
                                 r.tokens > r.rows ? "tokens" : "rows");
    bar_->update(at.step, {line.data(), std::min(written.size, line.size())});
  }
  Status on_log(const RunPlace& at, const OrderedJson& entry) override {
    if (entry.contains("eval_runtime")) {
      // on_evaluate() prints those inside of training, with the best; but not the one on start.
      if (!training_ || at.step == 0) tell(at, entry, "");
    } else if (entry.contains("learning_rate")) {
      // Fits 80 columns up to 99,999 steps.
      log_info("{:<11} step {}/{} epoch {:.2f}: loss {:.4f}, norm {:.3g}, rate {:.3g}", "train",
               at.step, at.total_steps, at.epoch, entry.value("loss", NAN),
               entry.value("grad_norm", NAN), entry.value("learning_rate", NAN));
      tell_scale(entry);
    }
    return Ok{};
  }
  // The first rows can take long. A terminal shows their bar soon.
  void on_evaluate_begin(const RunPlace& at) override {
    if (training_ && bar_->on_terminal()) return;
    log_info("{:<11} the validation rows{}", "evaluating",
             training_ ? fmt::format(" after step {}", at.step) : "");
  }
  Status on_evaluate(const RunPlace& at, const OrderedJson& metrics,
                     const BestModel& best) override {
    if (!metric_) {
      tell(at, metrics, "");
      return Ok{};
    }
    const double value = HONE_TRY(value_of(*metric_, metrics));
    const bool better =
        !std::isnan(value) && (!best.metric || metric_->better(value, *best.metric));
    tell(at, metrics,
         better ? "; the best so far"
         : best.metric
             ? fmt::format("; best {} so far {:.4f}", metric_->name.substr(5), *best.metric)
             : "");
    return Ok{};
  }
  void on_save(const RunPlace&, const std::string& checkpoint, double) override {
    log_info("{:<11} {}", "saved", checkpoint);
  }
  void on_train_end(const RunPlace&) override {
    bar_->finish();
    training_ = false;
  }

 private:
  // "loss scale  32768, 1 step skipped", or "skipped     1 step so far"; no line while nothing changes.
  void tell_scale(const OrderedJson& entry) {
    const bool scaled = entry.contains("loss_scale");
    std::string text;
    if (scaled) text = fmt::format("{:.9g}", entry["loss_scale"].get<double>());
    if (const int64_t steps = entry.value("skipped_steps", int64_t{0}); steps > 0)
      text += fmt::format("{}{} {}{}", scaled ? ", " : "", steps, steps == 1 ? "step" : "steps",
                          scaled ? " skipped" : " so far");
    if (!text.empty() && text != scale_)
      log_info("{:<11} {}", scaled ? "loss scale" : "skipped", text);
    scale_ = std::move(text);
  }

  // The loss first, then every other metric, without the prefix eval_.
  static std::string metrics_text(const OrderedJson& entry) {
    std::string text;
    const auto add = [&](std::string name, const OrderedJson& value) {
      if (!value.is_number()) return;
      std::replace(name.begin(), name.end(), '_', ' ');
      const double x = value.get<double>();
      text += fmt::format("{}{} {}", text.empty() ? "" : ", ", name,
                          value.is_number_integer() ? dump_json(value)
                          : std::abs(x) < 10        ? fmt::format("{:.4f}", x)
                                                    : fmt::format("{:.3f}", x));
    };
    if (entry.contains("eval_loss")) add("loss", entry["eval_loss"]);
    for (const auto& [key, value] : entry.items()) {
      const std::string name = key.starts_with("eval_") ? key.substr(5) : key;
      if (name != "loss" && name != "loss_per_token" && name != "runtime" && name != "epoch" &&
          !name.starts_with("samples") && !name.ends_with("_per_second"))
        add(name, value);
    }
    return text;
  }

  static void tell(const RunPlace& at, const OrderedJson& metrics, const std::string& best) {
    const std::string step = at.step > 0 ? fmt::format("step {}: ", at.step) : "";
    log_info("{:<11} {}{}{}", "evaluated", step, metrics_text(metrics), best);
  }

  std::optional<BestMetric> metric_;
  std::string scale_;  // told last
  bool plain_, training_ = false;
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
  if (s.early_stopping_patience && best_metric_of(s)) all.push_back(make_early_stopping(s));
  return all;
}

}  // namespace hone
