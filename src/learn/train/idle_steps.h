// Detects runs that learn nothing: steps whose loss is exactly 0, or that have no label.
#pragma once

#include "learn/train/settings.h"

namespace hone {

// Values of --allow.
inline constexpr const char *kAllowZeroLoss = "zero_loss", *kAllowNoLabels = "no_labels",
                            *kAllowSpecialTokens = "special_tokens";

// Counts the steps in a row that taught nothing.
class IdleSteps {
 public:
  // Adds a step. `loss`: its loss; nullopt: the step had no label. `step`: its number, for the message. `total`:
  // number of steps of the run. H2428 if the last kMost steps, or all steps of a shorter run, had loss 0 or had no
  // label, and --allow does not name this reason. A run is refused only after at least kLeastZero steps with loss 0,
  // or kLeastUnlabelled steps without labels: random masks may leave a few steps without labels.
  Status add(const TrainSettings& s, std::optional<double> loss, int64_t step, int64_t total);
  static constexpr int64_t kLeastZero = 2, kLeastUnlabelled = 5, kMost = 10;

 private:
  int64_t zero_loss_ = 0, no_labels_ = 0;
};

}  // namespace hone
