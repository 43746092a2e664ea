// torchao's AdamW4bit (B. Li et al. 2023, arXiv 2309.01507): an eighth of AdamW's memory. Weights of
// 4,096 elements or more whose number of elements is a multiple of 128 have codes of 4 bits, embeddings
// too; the states of others stay f32.
#include "learn/train/optimizers/optimizer.h"

namespace hone {
namespace {

constexpr int64_t kBlock4bit = 128;  // elements that share a scale

StateList packed_codes(std::string name) {
  return [name = std::move(name)](const Type& weight) {
    return OptimizerState{name, {DType::u8, {weight.count() / 2}}, 2};
  };
}
StateList scales_of_blocks(std::string name) {
  return [name = std::move(name)](const Type& weight) {
    return OptimizerState{name, {DType::f32, {weight.count() / kBlock4bit}}, kBlock4bit};
  };
}

}  // namespace

Optimizer optimizer_adamw_torch_4bit() {
  return {.names = {"adamw_torch_4bit"},
          .op = "adamw_4bit",
          .adam = betas_and_epsilon(),
          .states =
              [](const Attrs&) {
                return StateLists{packed_codes("exp_avg"), scales_of_blocks("exp_avg_scale"),
                                  packed_codes("exp_avg_sq"), scales_of_blocks("exp_avg_sq_scale")};
              },
          .is_for =
              [](const UpdateWeight& w, const Attrs&) {
                return w.type.count() >= 4096 && w.type.count() % kBlock4bit == 0;
              },
          .other_op = "adamw",
          .other_states = adam_states};
}

}  // namespace hone
