// The policy of hone models decide: the conditions under which a model version may be deployed instead of another.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

struct DecisionPolicy {
  // The metric that decides, without a prefix such as "eval_": "rouge1", "accuracy", "perplexity".
  std::string metric;
  bool higher_is_better = true;  // default in a policy file: !lower_is_better(metric)
  // The whole confidence interval of the gain (the improvement of the metric) must be above this value, in units of the
  // metric.
  double minimum_gain = 0;
  // The worst allowed value of the version's own metric: the smallest, or the largest if lower is better. nullopt:
  // none.
  std::optional<double> floor;
  double confidence = 0.95;         // confidence level of the interval, 0.5 to 0.9999
  std::vector<std::string> slices;  // columns: the rows with equal values of a column form a slice
  // The largest allowed loss of a slice, in units of the metric; nullopt: slices are only reported.
  std::optional<double> max_slice_loss;
  int64_t bootstrap_samples = 1000;
  uint64_t seed = 42;  // seed of the bootstrap

  // Parity: a new evaluation of the registered folder must reproduce the recorded evaluation.
  int64_t parity_rows = 8;  // rows to compare; 0: no parity check
  // The largest allowed difference of a row's log likelihood, in nats per token; nullopt: see allowed_difference().
  std::optional<double> parity_tolerance;
  double parity_same_texts = 1;  // smallest allowed share of rows with the same prediction, 0 to 1
  // Dtype in which the model will be served: "bf16" or "int8"; "": as trained.
  std::string parity_dtype;

  // parity_tolerance if it is set; else 0.05 if parity_dtype is set, and 0.001 if it is not.
  double allowed_difference() const {
    return parity_tolerance.value_or(parity_dtype.empty() ? 1e-3 : 0.05);
  }
  OrderedJson json() const;
};

// Parses a JSON object whose keys are the members of DecisionPolicy. For the members parity_..., its key "parity" is an
// object {"rows", "tolerance", "same_texts", "dtype"}. `name` is the file's name for errors. Error H3143: malformed
// JSON, no metric, an unknown key (the error has the nearest name), or a value of another type or outside its bounds.
Result<DecisionPolicy> parse_policy(std::string_view text, const std::string& name);

// Whether smaller values of a metric are better: true for losses, errors, perplexity, and costs such as memory and
// seconds. `metric` is a name without a prefix.
bool lower_is_better(const std::string& metric);
// The name without the prefix "eval_", "predict_" or "test_": "rouge1" for "eval_rouge1".
std::string bare_metric(const std::string& name);

}  // namespace hone
