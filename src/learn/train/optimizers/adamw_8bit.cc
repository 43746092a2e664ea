// AdamW with bitsandbytes' 8-bit states (Dettmers et al. 2021, arXiv 2110.02861): a quarter of the
// memory. As Transformers' Trainer runs it: the states of embeddings stay f32, and so do those of
// weights of fewer than 4,096 elements (min_8bit_size). "paged" says where bitsandbytes keeps them
// on a GPU; here --offload_optimizer_device does.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_adamw_8bit() {
  return {.names = {"adamw_bnb_8bit", "adamw_8bit", "paged_adamw_8bit"},
          .op = "adamw_8bit",
          .adam = betas_and_epsilon(),
          .states =
              [](const Attrs&) {
                return StateLists{state_codes("state1"), state_absmax("absmax1"),
                                  state_codes("state2"), state_absmax("absmax2")};
              },
          .is_for = has_codes,
          .other_op = "adamw",
          .other_states =
              [](const Attrs&) {
                return StateLists{state_like_weight("state1"), state_like_weight("state2")};
              }};
}

}  // namespace hone
