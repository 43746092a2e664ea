#include "learn/train/best_model.h"

#include <cmath>

#include "base/core/text.h"
#include "learn/train/errors.h"

namespace hone {

std::optional<BestMetric> best_metric_of(const TrainSettings& s) {
  std::string name = s.metric_for_best_model;
  if (name.empty() && (s.load_best_model_at_end || s.save_strategy == "best")) name = "loss";
  if (name.empty()) return {};
  BestMetric metric;
  metric.greater_is_better = s.greater_is_better.value_or(!name.ends_with("loss"));
  metric.name = name.starts_with("eval_") ? name : "eval_" + name;
  return metric;
}

Result<double> value_of(const BestMetric& metric, const OrderedJson& metrics) {
  for (const std::string& name : {metric.name, metric.name.substr(5)})  // perplexity has no prefix
    if (metrics.contains(name) && metrics[name].is_number()) return metrics[name].get<double>();
  std::vector<std::string> known;
  for (const auto& [name, value] : metrics.items()) {
    const bool is_of_run = name == "epoch" || name.ends_with("_runtime") ||
                           name.ends_with("_per_second") || name.ends_with("_samples");
    if (value.is_number() && !is_of_run) known.push_back(name);
  }
  return Error(err::kNoMetric, fmt::format("the evaluation has no metric '{}'", metric.name))
      .at("--metric_for_best_model")
      .todo("choose one of " + join(known, ", "));
}

Status check_strategies(const TrainSettings& s) {
  auto refuse = [](const std::string& what, const std::string& where, const std::string& todo) {
    return Error(err::kStrategies, what).at(where).todo(todo);
  };
  if (s.early_stopping_patience && !best_metric_of(s))
    return refuse("early stopping has no metric to follow", "--early_stopping_patience",
                  "add --load_best_model_at_end, or --metric_for_best_model");
  if (s.early_stopping_patience && s.eval_strategy == "no")
    return refuse("early stopping needs evaluations during training", "--early_stopping_patience",
                  "add --eval_strategy steps or epoch");
  if (s.lr_scheduler_type == "reduce_lr_on_plateau" && s.eval_strategy == "no")
    return refuse("the learning rate follows evaluations during training",
                  "--lr_scheduler_type reduce_lr_on_plateau", "add --eval_strategy steps or epoch");
  if (s.save_strategy == "best" && s.eval_strategy == "no")
    return refuse("the best model is known by evaluations during training", "--save_strategy best",
                  "add --eval_strategy steps or epoch");
  if (!s.load_best_model_at_end || s.save_strategy == "best") return Ok{};
  if (s.eval_strategy != s.save_strategy || s.eval_strategy == "no")
    return refuse(fmt::format("the best model can only be loaded when evaluations and checkpoints "
                              "come together: --eval_strategy {}, --save_strategy {}",
                              s.eval_strategy, s.save_strategy),
                  "--load_best_model_at_end",
                  "make --eval_strategy and --save_strategy the same, steps or epoch");
  if (s.eval_strategy != "steps") return Ok{};
  const double eval_steps = s.evaluation_interval();
  const double ratio = s.save_steps / eval_steps;
  if ((eval_steps < 1) != (s.save_steps < 1) || std::abs(ratio - std::round(ratio)) > 1e-6)
    return refuse(
        fmt::format("--save_steps {} is not a multiple of --eval_steps {}, so the best model "
                    "may have no checkpoint",
                    s.save_steps, eval_steps),
        "--load_best_model_at_end",
        "make --save_steps a multiple of --eval_steps, both steps or both shares");
  return Ok{};
}

}  // namespace hone
