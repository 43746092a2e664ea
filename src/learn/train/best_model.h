// Finds the best evaluation, and checks that its model can be kept: the rules of Transformers'
// TrainingArguments and Trainer.
#pragma once

#include <optional>
#include <string>

#include "base/core/json.h"
#include "learn/train/settings.h"

namespace hone {

struct BestMetric {
  std::string name;  // a key of the metrics: eval_loss
  bool greater_is_better = false;

  bool better(double value, double than) const {
    return greater_is_better ? value > than : value < than;
  }
};

// metric_for_best_model and greater_is_better with their defaults: loss if a best model is needed,
// greater is better unless the name ends in "loss". None: evaluations are not compared.
std::optional<BestMetric> best_metric_of(const TrainSettings& s);
// The metric of an evaluation. Errors: H2411 it has no such metric.
Result<double> value_of(const BestMetric& metric, const OrderedJson& metrics);

struct BestModel {
  std::optional<double> metric;  // none: nothing was evaluated
  int64_t step = 0;              // of the evaluation
  int64_t checkpoint_step = 0;   // the best step that was saved; 0: none
};

// Checks load_best_model_at_end: evaluations and checkpoints at the same steps; early stopping: a
// metric to compare. Errors: H2410.
Status check_strategies(const TrainSettings& s);

}  // namespace hone
