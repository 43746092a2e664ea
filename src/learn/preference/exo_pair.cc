// EXO for pairs (arXiv 2402.00856, equation 16): the divergence of the policy's preference from one
// that is wrong with the probability label_smoothing.
#include <cmath>

#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_exo_pair() {
  return {.name = "exo_pair",
          .of_pairs =
              [](const PreferencePairs& p) {
                const auto part = [&](ValueId x, double log_wanted) {
                  return ops::mul(p.b, p.sigmoid(x), p.plus(p.log_sigmoid(x), -log_wanted));
                };
                const ValueId x = p.times_beta(p.delta());
                const ValueId won = part(x, std::log1p(-p.o.label_smoothing));
                return ops::add(p.b, won, part(p.times(x, -1), std::log(p.o.label_smoothing)));
              },
          .any_divergence = true,
          .least_smoothing = 1e-12,
          .below_smoothing = 1};
}

}  // namespace hone
