// An optimizer that --optim names. Each is one file of this shelf:
//
//   Optimizer optimizer_lion() {
//     return {.names = {"lion", "lion_32bit"},
//             .op = "lion",
//             .adam = {{"beta1", &AdamSettings::beta1}, {"beta2", &AdamSettings::beta2}},
//             .states = [](const Attrs&) { return StateLists{state_like_weight("exp_avg")}; },
//             .usual_rates = {1e-6, 3e-5}};
//   }
#pragma once

#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/core/error.h"
#include "engine/graph/graph.h"

namespace hone {

// --adam_beta1, --adam_beta2 and --adam_epsilon, which several optimizers take.
struct AdamSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};
using AdamAttributes = std::vector<std::pair<std::string, double AdamSettings::*>>;
inline AdamAttributes betas_and_epsilon() {
  return {{"beta1", &AdamSettings::beta1},
          {"beta2", &AdamSettings::beta2},
          {"eps", &AdamSettings::epsilon}};
}

// One name=value of --optim_args, which is an attribute of the op.
struct OptimizerArgument {
  std::string name;
  Attr otherwise;  // the default, whose type is the argument's: bool, int64_t, double or a text
  double least = -std::numeric_limits<double>::infinity();  // of a number; both ends are allowed
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // of a text
};

// A trained weight.
struct UpdateWeight {
  std::string name;
  Type type;
  bool decay = true;       // weight decay applies
  bool looked_up = false;  // a table that ids index, as torch.nn.Embedding
  bool is_target = false;  // a linear layer's that --optim_target_modules names
  double rate = 1;         // times the learning rate of the run
  bool in_parts =
      false;  // `type` is that of a part: other ranks have other parts (UpdateOptions::tensor)
};

// Whether this run decays the weight.
inline bool decays(const UpdateWeight& w, const Attrs& attrs) {
  return w.decay && attrs.real("weight_decay") != 0;
}

// A state of one weight of that type in a list of states: the name before the dot and the weight's
// name, and the type. nullopt: this weight has none.
struct OptimizerState {
  std::string name;
  Type type;
  int64_t block = 0;  // not 0: it has one element for this number of the weight's, and no rows
};
using StateList = std::function<std::optional<OptimizerState>(const Type& weight)>;
using StateLists = std::vector<StateList>;
inline StateList state_like_weight(std::string name) {
  return [name = std::move(name)](const Type& weight) { return OptimizerState{name, weight}; };
}

// Adam's two moments, with PyTorch's names.
inline StateLists adam_states(const Attrs&) {
  return {state_like_weight("exp_avg"), state_like_weight("exp_avg_sq")};
}

// bitsandbytes' 8-bit numbers (engine/ops/quantize_dynamic.cc): codes, and the magnitude of each
// block.
inline constexpr int64_t kCodesBlock = 256;  // elements
inline StateList state_codes(std::string name) {
  return [name = std::move(name)](const Type& weight) {
    return OptimizerState{name, {DType::u8, weight.shape}};
  };
}
inline StateList state_absmax(std::string name) {
  return [name = std::move(name)](const Type& weight) {
    const int64_t blocks = (weight.count() + kCodesBlock - 1) / kCodesBlock;
    return OptimizerState{name, {DType::f32, {blocks}}, kCodesBlock};
  };
}

// Whether bitsandbytes and Transformers' Trainer give the weight such states: not for embeddings,
// nor for fewer elements than min_8bit_size.
inline bool has_codes(const UpdateWeight& w, const Attrs&) {
  return !w.looked_up && w.type.count() >= 4096;
}

// H2409 nesterov without momentum, or with dampening (sgd.cc).
Status check_nesterov(const Attrs& attrs);

// A state of this name is the average of the weight: evaluations use it, and it is saved in place of the
// weight (trainer.h).
inline constexpr const char* kAverageState = "average";

struct UsualRates {
  double least = 1e-5, most = 1e-4;
};

// An optimizer's type in DeepSpeed's configurations, with its defaults there.
struct DeepSpeedOptimizer {
  std::string type;  // in any case
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

struct Optimizer {
  std::vector<std::string> names;  // values of --optim with the same meaning
  std::string op;                  // of the catalogue (engine/ops)
  Attrs fixed = {};                // attributes of the op that no setting changes
  AdamAttributes adam = {};        // attributes with settings of their own
  std::vector<OptimizerArgument> arguments = {};
  // Refuses (H2409) arguments that exclude each other; nullptr: none do.
  Status (*check)(const Attrs& attrs) = nullptr;
  // Lists in the order of the op's operands. Names as in PyTorch's and Transformers' optimizers.
  StateLists (*states)(const Attrs& attrs) = nullptr;
  // The weights that `op` updates; nullptr: all. `other_op` updates the others, with the attributes
  // that it knows.
  bool (*is_for)(const UpdateWeight& weight, const Attrs& attrs) = nullptr;
  std::string other_op = {};
  StateLists (*other_states)(const Attrs& attrs) = nullptr;
  bool needs_targets = false;  // --optim_target_modules must name layers
  bool decay_all = false;      // weight decay applies to biases and norms too
  bool updates_bf16 = true;    // updates weights that are kept only in bf16
  // No backend has a kernel for the op: it runs as its decomposition, only on the device.
  bool decomposed = false;
  bool averages = false;        // has states kAverageState
  UsualRates usual_rates = {};  // for a trained model; `hone check` warns above ten times the most
  std::vector<DeepSpeedOptimizer> deepspeed = {};
};

std::vector<Optimizer> all_optimizer();  // generated from the folder

}  // namespace hone
