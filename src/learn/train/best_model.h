// Compares evaluations to find the best model, and checks the settings that this needs, by the rules of Transformers'
// TrainingArguments and Trainer.
#pragma once

#include <optional>
#include <string>

#include "base/core/json.h"
#include "learn/train/settings.h"

namespace hone {

struct BestMetric {
  std::string name;  // key of the metrics, with the prefix "eval_": "eval_loss"
  bool greater_is_better = false;

  bool better(double value, double than) const {
    return greater_is_better ? value > than : value < than;
  }
};

// The metric that the settings give. Its name is metric_for_best_model, by default "loss" if load_best_model_at_end is
// set or save_strategy is "best". If greater_is_better is not set, greater is better unless the name ends in "loss".
// nullopt: there is no metric, and evaluations are not compared.
std::optional<BestMetric> best_metric_of(const TrainSettings& s);
// The value of the metric in an evaluation's metrics, with or without the prefix "eval_". Errors: H2411 the evaluation
// does not have this metric.
Result<double> value_of(const BestMetric& metric, const OrderedJson& metrics);

// The best evaluation so far.
struct BestModel {
  std::optional<double> metric;  // its value of the metric; nullopt: no evaluation was compared yet
  int64_t step = 0;              // number of optimizer steps done at this evaluation
  int64_t checkpoint_step = 0;   // the step of the best checkpoint that is saved; 0: none
};

// Returns H2410 if settings do not fit together. With load_best_model_at_end, every checkpoint must be saved at a step
// with an evaluation, unless save_strategy is "best". Early stopping needs a metric. Early stopping, save_strategy
// "best" and the schedule reduce_lr_on_plateau need evaluations during training.
Status check_strategies(const TrainSettings& s);

}  // namespace hone
