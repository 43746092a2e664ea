// LARS (You et al. 2017, arXiv 1708.03888) as timm defines it: SGD with a rate for each weight that has decay. The others, such
// as biases and norms, have SGD's rate, unless always_adapt.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_lars() {
  const auto buffers = [](const Attrs& attrs) {
    StateLists lists;
    if (attrs.real("momentum") != 0) lists.push_back(state_like_weight("momentum_buffer"));
    return lists;
  };
  return {
      .names = {"lars"},
      .op = "lars",
      .arguments = {{"momentum", 0.9, 0},
                    {"dampening", 0.0},
                    {"nesterov", false},
                    {"trust_coefficient", 0.001, 0},
                    {"eps", 1e-8, 0},
                    {"trust_clip", false},
                    {"always_adapt", false}},
      .check = check_nesterov,
      .states = buffers,
      .is_for = [](const UpdateWeight& w,
                   const Attrs& attrs) { return attrs.flag("always_adapt") || decays(w, attrs); },
      .other_op = "sgd",
      .other_states = buffers,
      .updates_bf16 = false,
      .decomposed = true,
      .usual_rates = {1e-2, 10}};
}

}  // namespace hone
