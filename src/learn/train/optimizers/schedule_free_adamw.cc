// AdamW without a schedule (Defazio et al. 2024, arXiv 2405.15682), as the package schedulefree, which Transformers'
// Trainer calls. The averages are evaluated and saved; the gradients are those of points between them and the
// plain steps.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_schedule_free_adamw() {
  const auto number = [](std::string name) -> StateList {
    return [name = std::move(name)](const Type&) { return OptimizerState{name, {DType::f64, {}}}; };
  };
  static const StateLists states = {state_like_weight("z"), state_like_weight("exp_avg_sq"),
                                    state_like_weight(kAverageState), number("lr_max"),
                                    number("weight_sum")};
  return {.names = {"schedule_free_adamw"},
          .op = "schedule_free_adamw",
          .adam = betas_and_epsilon(),
          .arguments = {{"r", 0.0, 0, 100}, {"weight_lr_power", 2.0, 0, 100}},
          .states = [](const Attrs&) { return states; },
          .updates_bf16 = false,
          .decomposed = true,
          .averages = true,
          .usual_rates = {1e-5, 1e-3}};
}

}  // namespace hone
