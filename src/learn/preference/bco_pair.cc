// BCO for pairs (arXiv 2404.04656): a classifier of single answers.
#include "learn/preference/preference_loss.h"

namespace hone {

PreferenceLoss preference_loss_bco_pair() {
  return {.name = "bco_pair", .of_pairs = [](const PreferencePairs& p) {
            const ValueId chosen = p.log_sigmoid(p.times_beta(p.chosen)),
                          rejected = p.log_sigmoid(p.times(p.times_beta(p.rejected), -1));
            return p.times(ops::add(p.b, chosen, rejected), -1);
          }};
}

}  // namespace hone
