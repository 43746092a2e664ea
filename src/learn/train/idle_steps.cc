#include "learn/train/idle_steps.h"

#include <algorithm>

#include "learn/train/errors.h"

namespace hone {

Status IdleSteps::add(const TrainSettings& s, std::optional<double> loss, int64_t step,
                      int64_t total) {
  no_labels_ = loss ? 0 : no_labels_ + 1;
  zero_loss_ = loss == 0.0 ? zero_loss_ + 1 : 0;
  const int64_t idle = std::max(no_labels_, zero_loss_);
  const int64_t least = no_labels_ > 0 ? kLeastUnlabelled : kLeastZero;
  if (idle < std::clamp(total, least, kMost)) return Ok{};
  const char* reason = no_labels_ > 0 ? kAllowNoLabels : kAllowZeroLoss;
  if (s.allows(reason)) return Ok{};
  return Error(err::kNothingLearnt,
               no_labels_ > 0
                   ? fmt::format("no row of the last {} steps has a token or label to learn", idle)
                   : fmt::format("the loss of the last {} steps is exactly 0", idle))
      .at(fmt::format("step {} of {}", step, total))
      .todo(fmt::format("look at rows and labels with hone check --samples 3, and at the settings "
                        "that mask labels; to train all the same, add --allow {}",
                        reason));
}

}  // namespace hone
