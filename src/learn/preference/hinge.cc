// The hinge of SLiC-HF (arXiv 2305.10425) on DPO's rewards.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_hinge() {
  return {.name = "hinge",
          .of_pairs =
              [](const PreferencePairs& p) {
                const ValueId short_of = p.plus(p.times_beta(p.times(p.delta(), -1)), 1);
                return ops::maximum(p.b, ops::constant(p.b, 0, {DType::f32, {}}), short_of);
              },
          .any_divergence = true};
}

}  // namespace hone
