// Detects runs that learn nothing: steps whose loss is exactly 0, or that have no label.
#pragma once

#include "learn/train/settings.h"

namespace hone {

// Values of --allow that turn off a check.
inline constexpr const char *kAllowZeroLoss = "zero_loss", *kAllowNoLabels = "no_labels",
                            *kAllowSpecialTokens = "special_tokens";

// Counts successive steps from which the model learns nothing.
class IdleSteps {
 public:
  // Adds a step. `loss`: its loss; nullopt: the step had no label. `step`: its number, for the message. `total`: number
  // of steps of the run. Returns H2428 in two cases: the last n steps all had the loss 0, and --allow does not name
  // "zero_loss"; or the last n steps all had no label, and --allow does not name "no_labels". n is `total`, but at most
  // kMost. For the loss, n is at least kLeastZero. For labels, n is at least kLeastUnlabelled, because random masks may
  // leave a few steps without labels.
  Status add(const TrainSettings& s, std::optional<double> loss, int64_t step, int64_t total);
  static constexpr int64_t kLeastZero = 2, kLeastUnlabelled = 5, kMost = 10;

 private:
  int64_t zero_loss_ = 0, no_labels_ = 0;
};

}  // namespace hone
