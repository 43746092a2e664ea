// APO-zero (arXiv 2408.06266, equation 7): for chosen answers better than the model's own.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_apo_zero() {
  return {.name = "apo_zero", .of_pairs = [](const PreferencePairs& p) {
            const ValueId lost = p.plus(p.times(p.sigmoid(p.times_beta(p.chosen)), -1), 1);
            return ops::add(p.b, lost, p.sigmoid(p.times_beta(p.rejected)));
          }};
}

}  // namespace hone
