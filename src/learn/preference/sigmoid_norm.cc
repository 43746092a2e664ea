// DPO on scores of a token (Tulu 3, arXiv 2411.15124).
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_sigmoid_norm() {
  return {.name = "sigmoid_norm",
          .of_pairs =
              [](const PreferencePairs& p) {
                return p.times(p.log_sigmoid(p.times_beta(p.delta_per_token())), -1);
              },
          .any_divergence = true};
}

}  // namespace hone
