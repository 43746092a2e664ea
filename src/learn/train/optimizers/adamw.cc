// AdamW (Loshchilov and Hutter 2017, arXiv 1711.05101). The names differ in the kernel or in where
// the states are kept, not in what is computed.
#include "learn/train/optimizers/optimizer.h"

namespace hone {

Optimizer optimizer_adamw() {
  return {.names = {"adamw_torch", "adamw_torch_fused", "adamw_hf", "adamw_apex_fused",
                    "paged_adamw_32bit"},
          .op = "adamw",
          .adam = betas_and_epsilon(),
          .states = adam_states,
          .deepspeed = {{"Adam"}, {"AdamW"}}};
}

}  // namespace hone
