// SPPO with hard probabilities (arXiv 2405.00675, equation 4.7): the winner's is 1, the loser's 0.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_sppo_hard() {
  return {.name = "sppo_hard", .of_pairs = [](const PreferencePairs& p) {
            const double half = 0.5 / p.o.beta;
            return ops::add(p.b, p.square(p.plus(p.chosen, -half)),
                            p.square(p.plus(p.rejected, half)));
          }};
}

}  // namespace hone
