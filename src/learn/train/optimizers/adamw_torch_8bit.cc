// torchao's AdamW8bit: the maps and blocks of bitsandbytes for all weights of 4,096 elements or
// more whose number of elements is a multiple of 256, embeddings too. torchao rounds a small
// negative number to 0, where bitsandbytes and hone keep its sign.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_adamw_torch_8bit() {
  return {.names = {"adamw_torch_8bit"},
          .op = "adamw_8bit",
          .adam = betas_and_epsilon(),
          .states =
              [](const Attrs&) {
                return StateLists{state_codes("exp_avg"), state_absmax("exp_avg_scale"),
                                  state_codes("exp_avg_sq"), state_absmax("exp_avg_sq_scale")};
              },
          .is_for =
              [](const UpdateWeight& w, const Attrs&) {
                return w.type.count() >= 4096 && w.type.count() % kCodesBlock == 0;
              },
          .other_op = "adamw",
          .other_states = adam_states};
}

}  // namespace hone
