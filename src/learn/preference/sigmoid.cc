// DPO (arXiv 2305.18290, equation 7).
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_sigmoid() {
  return {.name = "sigmoid",
          .of_pairs =
              [](const PreferencePairs& p) {
                return p.times(p.log_sigmoid(p.times_beta(p.delta())), -1);
              },
          .any_divergence = true};
}

}  // namespace hone
