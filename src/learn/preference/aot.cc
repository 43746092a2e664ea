// AOT for pairs (arXiv 2406.05882): the margins of policy and reference, each sorted over the batch.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_aot() {
  return {.name = "aot",
          .of_pairs =
              [](const PreferencePairs& p) {
                return p.smoothed(p.times_beta(ops::sub(p.b, p.policy_margin, p.ranked_margin)));
              },
          .sorts = true};
}

}  // namespace hone
