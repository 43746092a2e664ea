// Runs that learn nothing: steps whose loss is exactly 0, or that have no label.
#pragma once

#include "learn/train/settings.h"

namespace hone {

// Names of --allow.
inline constexpr const char *kAllowZeroLoss = "zero_loss", *kAllowNoLabels = "no_labels",
                            *kAllowSpecialTokens = "special_tokens";

// Counts steps in a row.
class IdleSteps {
 public:
  // `loss` of step number `step` of `total`; null: the step had no label. H2428: the last `kMost`
  // steps, or all steps of a shorter run, taught nothing, and --allow does not name the reason. A
  // shorter run counts if it has at least kLeastZero steps with loss 0, or kLeastUnlabelled steps
  // without labels: random masks may leave a few steps without one.
  Status add(const TrainSettings& s, std::optional<double> loss, int64_t step, int64_t total);
  static constexpr int64_t kLeastZero = 2, kLeastUnlabelled = 5, kMost = 10;

 private:
  int64_t zero_loss_ = 0, no_labels_ = 0;
};

}  // namespace hone
