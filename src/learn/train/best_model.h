// Compares evaluations to find the best model, and checks that the settings allow it, by the rules of Transformers'
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

// The metric from metric_for_best_model and greater_is_better. Their defaults: "loss" if the settings need a best
// model; greater is better unless the name ends in "loss". nullopt: evaluations are not compared.
std::optional<BestMetric> best_metric_of(const TrainSettings& s);
// The value of the metric in an evaluation's metrics, with or without the prefix "eval_". Errors: H2411 the evaluation
// does not have this metric.
Result<double> value_of(const BestMetric& metric, const OrderedJson& metrics);

// The best evaluation so far.
struct BestModel {
  std::optional<double> metric;  // its value; nullopt: nothing was evaluated
  int64_t step = 0;              // the step after which it was made
  int64_t checkpoint_step = 0;   // the best step that has a checkpoint; 0: none
};

// H2410 if settings do not fit together: load_best_model_at_end needs evaluations and checkpoints at the same steps;
// early stopping needs a metric; early stopping, save_strategy best and reduce_lr_on_plateau need evaluations during
// training.
Status check_strategies(const TrainSettings& s);

}  // namespace hone
