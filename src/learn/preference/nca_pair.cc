// NCA for pairs (arXiv 2402.05369).
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_nca_pair() {
  return {.name = "nca_pair", .of_pairs = [](const PreferencePairs& p) {
            const ValueId chosen = p.times_beta(p.chosen), rejected = p.times_beta(p.rejected);
            const ValueId noise = ops::add(p.b, p.log_sigmoid(p.times(chosen, -1)),
                                           p.log_sigmoid(p.times(rejected, -1)));
            return p.times(ops::add(p.b, p.log_sigmoid(chosen), p.times(noise, 0.5)), -1);
          }};
}

}  // namespace hone
