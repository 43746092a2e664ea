// APOLLO (Zhu et al. 2024, arXiv 2412.05270): AdamW's states of a random projection of each
// gradient say how much each channel moves. As the package apollo-torch, which Transformers'
// Trainer calls, except for the random numbers, which are Philox's of seed, step and name and are
// never kept. apollo-mini is rank=1,scale_type=tensor,scale=128.
#include "learn/train/optimizers/errors.h"
#include "learn/train/optimizers/optimizer.h"

namespace hone {
namespace {

Status check_apollo(const Attrs& attrs) {
  if (attrs.text("scale_type") == "tensor" || attrs.text("proj_type") == "std") return Ok{};
  return Error(err::kOptimizerArgument, fmt::format("the projection {} leaves no channels to scale",
                                                    attrs.text("proj_type")))
      .todo("use proj_type=std or scale_type=tensor");
}

// A projected weight [R,C]: [R,rank] or [rank,C].
StateList projected(std::string name, const Attrs& attrs) {
  const std::string how = attrs.text("proj_type");
  return [=, rank = attrs.integer("rank")](const Type& weight) {
    Type t = weight;
    const bool tall = t.shape[0] >= t.shape[1];
    const bool right = how == "right" || (how == "std" && tall) || (how == "reverse_std" && !tall);
    t.shape[right ? 1 : 0] = rank;
    return OptimizerState{name, std::move(t)};
  };
}

}  // namespace

Optimizer optimizer_apollo_adamw() {
  return {.names = {"apollo_adamw"},
          .op = "apollo_adamw",
          .fixed = {{"huggingface", true}},
          .adam = betas_and_epsilon(),
          .arguments =
              {{"rank", int64_t{128}, 1, 1 << 20},
               {"update_proj_gap", int64_t{200}, 1, 1e15},
               {"scale", 1.0, 0},
               {"scale_type", std::string("channel"), 0, 0, {"channel", "tensor"}},
               {"proj_type", std::string("std"), 0, 0, {"std", "reverse_std", "left", "right"}},
               {"proj", std::string("random"), 0, 0, {"random"}}},
          .check = check_apollo,
          .states =
              [](const Attrs& attrs) {
                return StateLists{projected("exp_avg", attrs), projected("exp_avg_sq", attrs),
                                  [](const Type& weight) {
                                    return OptimizerState{"scaled_grad", {weight.dtype, {}}};
                                  }};
              },
          .is_for = [](const UpdateWeight& w, const Attrs&) { return w.is_target; },
          .other_op = "adamw",
          .other_states = adam_states,
          .needs_targets = true,
          .updates_bf16 = false,
          .decomposed = true,
          .usual_rates = {1e-4, 1e-2}};
}

}  // namespace hone
