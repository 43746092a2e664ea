// Robust DPO (arXiv 2403.00409): labels are flipped with the probability label_smoothing.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_robust() {
  return {.name = "robust",
          .of_pairs =
              [](const PreferencePairs& p) {
                const double e = p.o.label_smoothing;
                const ValueId x = p.times_beta(p.delta());
                const ValueId clean = p.times(p.log_sigmoid(x), -(1 - e)),
                              flipped = p.times(p.log_sigmoid(p.times(x, -1)), -e);
                return p.times(ops::sub(p.b, clean, flipped), 1 / (1 - 2 * e));
              },
          .any_divergence = true,
          .below_smoothing = 0.5};
}

}  // namespace hone
