// The policy of hone models decide: when a version may be deployed.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "base/core/json.h"

namespace hone {

struct DecisionPolicy {
  std::string metric;            // "rouge1", "accuracy", "perplexity"; a prefix "eval_" is dropped
  bool higher_is_better = true;  // default: false for losses, errors and perplexity
  double minimum_gain = 0;       // the whole interval must be above it, in units of the metric
  std::optional<double> floor;   // smallest value (for losses: largest) of the version itself
  double confidence = 0.95;
  std::vector<std::string> slices;       // columns
  std::optional<double> max_slice_loss;  // largest loss of a slice; null: slices are only reported
  int64_t bootstrap_samples = 1000;
  uint64_t seed = 42;

  // Parity: the registered folder must reproduce its recorded evaluation.
  int64_t parity_rows = 8;  // 0: no check
  // Largest difference of a row's mean log likelihood a token, in nats; null: 0.001, with a dtype
  // 0.05.
  std::optional<double> parity_tolerance;
  double parity_same_texts = 1;  // smallest share of rows with the same prediction
  std::string parity_dtype;      // "", "bf16" or "int8": as it will be served

  double allowed_difference() const {
    return parity_tolerance.value_or(parity_dtype.empty() ? 1e-3 : 0.05);
  }
  OrderedJson json() const;
};

// A JSON object with the names above; "parity" is an object {"rows", "tolerance", "same_texts",
// "dtype"}. H3143: an unknown key (with the nearest name), a value of another type or outside its
// bounds.
Result<DecisionPolicy> parse_policy(std::string_view text, const std::string& name);

// Losses, errors, perplexity, and costs such as memory and seconds; of a metric without prefix.
bool lower_is_better(const std::string& metric);
// "rouge1" for "eval_rouge1" and "predict_rouge1".
std::string bare_metric(const std::string& name);

}  // namespace hone
