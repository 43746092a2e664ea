// The usual loss of the chosen answers' tokens, each of which counts alike in a batch (the last term of
// MPO, arXiv 2411.10442).
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_sft() {
  return {.name = "sft",
          .of_pairs =
              [](const PreferencePairs& p) {
                return ops::mul(p.b, p.times(p.chosen_logps, -1), p.per_token);
              },
          .any_divergence = true};
}

}  // namespace hone
