// Muon (Jordan et al. 2024, kellerjordan.github.io/posts/muon) for the matrices of hidden layers, AdamW for
// embeddings, heads, biases and norms, as its author advises. Both have one learning rate: adjust_lr=match_rms_adamw
// (Liu et al. 2025, arXiv 2502.16982) makes steps as large as AdamW's.
#include "learn/train/optimizers/optimizer.h"

namespace hone {
namespace {

bool is_hidden_matrix(const UpdateWeight& w, const Attrs&) {
  const auto has = [&](const char* part) { return w.name.find(part) != std::string::npos; };
  return w.type.rank() == 2 && !w.looked_up && !has("head") && !has("embed");
}

}  // namespace

Optimizer optimizer_muon() {
  return {.names = {"muon"},
          .op = "muon",
          .adam = betas_and_epsilon(),
          .arguments = {{"momentum", 0.95, 0, 0.999999},
                        {"nesterov", true},
                        {"ns_steps", int64_t{5}, 1, 99},
                        {"adjust_lr",
                         std::string("match_rms_adamw"),
                         0,
                         0,
                         {"match_rms_adamw", "original", "none"}}},
          .states = [](const Attrs&) { return StateLists{state_like_weight("momentum_buffer")}; },
          .is_for = is_hidden_matrix,
          .other_op = "adamw",
          .other_states = adam_states,
          .updates_bf16 = false,
          .decomposed = true};
}

}  // namespace hone
