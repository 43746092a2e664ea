// IPO (arXiv 2310.12036, equation 17) on scores of a token, the form of its authors; beta is the tau of
// the paper.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_ipo() {
  return {.name = "ipo",
          .of_pairs =
              [](const PreferencePairs& p) {
                return p.square(p.plus(p.delta_per_token(), -1 / (2 * p.o.beta)));
              },
          .any_divergence = true};
}

}  // namespace hone
