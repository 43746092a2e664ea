// DiscoPOP (arXiv 2406.08414, equation 5): a logistic and an exponential loss, mixed by the size of the
// margin.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_discopop() {
  return {.name = "discopop",
          .of_pairs =
              [](const PreferencePairs& p) {
                const ValueId x = p.times_beta(p.delta());
                const ValueId share = p.sigmoid(p.times(x, 1 / p.o.discopop_tau));
                const ValueId logistic = p.times(p.log_sigmoid(x), -1),
                              exponential = ops::exp(p.b, p.times(x, -1));
                const ValueId rest = p.plus(p.times(share, -1), 1);
                return ops::add(p.b, ops::mul(p.b, logistic, rest),
                                ops::mul(p.b, exponential, share));
              },
          .any_divergence = true};
}

}  // namespace hone
