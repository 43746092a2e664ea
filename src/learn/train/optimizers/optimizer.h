// The description of an optimizer, which --optim chooses by name. To add one, add a file to this folder, such as
// lion.cc:
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

// The values of --adam_beta1, --adam_beta2 and --adam_epsilon, which several optimizers use.
struct AdamSettings {
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};
// Attributes of an op, each with the setting that gives its value.
using AdamAttributes = std::vector<std::pair<std::string, double AdamSettings::*>>;
inline AdamAttributes betas_and_epsilon() {
  return {{"beta1", &AdamSettings::beta1},
          {"beta2", &AdamSettings::beta2},
          {"eps", &AdamSettings::epsilon}};
}

// An argument of --optim_args, given there as name=value. It is an attribute of the optimizer's op.
struct OptimizerArgument {
  std::string name;
  // The default value. Its type is the type of the argument: bool, int64_t, double or std::string.
  Attr otherwise;
  // If the argument is a number: its smallest and its largest value.
  double least = -std::numeric_limits<double>::infinity();
  double most = std::numeric_limits<double>::infinity();
  std::vector<std::string> choices = {};  // if the argument is a std::string: its allowed values
};

// A trained weight.
struct UpdateWeight {
  std::string name;
  Type type;
  // True: weight decay applies. False: it applies only if Optimizer::decay_all is true.
  bool decay = true;
  bool looked_up = false;  // true: an embedding table, whose rows are chosen by ids
  bool is_target = false;  // true: weight of a linear layer that --optim_target_modules names
  double rate = 1;         // factor of the run's learning rate for this weight
  // True: each rank of the axis `tensor` has a part of the weight, and `type` is the type of this rank's part
  // (UpdateOptions::tensor).
  bool in_parts = false;
};

// Whether this run applies weight decay to the weight, if Optimizer::decay_all is false. `attrs`: attributes of the
// optimizer's op.
inline bool decays(const UpdateWeight& w, const Attrs& attrs) {
  return w.decay && attrs.real("weight_decay") != 0;
}

// An optimizer state of one weight, such as Adam's exp_avg.
struct OptimizerState {
  std::string name;  // its kind, "exp_avg"; the state of a weight is named "<kind>.<weight>"
  Type type;
  // 0: the state has rows that belong to the rows of the weight. Otherwise: the weight's elements are divided into
  // blocks of this number of elements, and the state has one element for each block.
  int64_t block = 0;
};
// A kind of state: returns the state of this kind for a weight of type `weight`; nullopt: the weight has no such state.
using StateList = std::function<std::optional<OptimizerState>(const Type& weight)>;
using StateLists = std::vector<StateList>;
// A state with the shape and dtype of the weight.
inline StateList state_like_weight(std::string name) {
  return [name = std::move(name)](const Type& weight) { return OptimizerState{name, weight}; };
}

// Adam's two moments, with PyTorch's names.
inline StateLists adam_states(const Attrs&) {
  return {state_like_weight("exp_avg"), state_like_weight("exp_avg_sq")};
}

// The two states with which bitsandbytes stores an 8-bit optimizer state (engine/ops/quantize_dynamic.cc). state_codes:
// a code of 8 bits for each element. state_absmax: the largest magnitude in each block of elements.
inline constexpr int64_t kCodesBlock = 256;  // elements of a block
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

// Whether the weight has 8-bit states, by the rules of bitsandbytes and Transformers' Trainer: it is not an embedding
// and has at least 4096 elements (min_8bit_size).
inline bool has_codes(const UpdateWeight& w, const Attrs&) {
  return !w.looked_up && w.type.count() >= 4096;
}

// Returns H2409 if nesterov is set and momentum is 0 or dampening is not 0 (sgd.cc).
Status check_nesterov(const Attrs& attrs);

// The name of the kind of state that is a moving average of the weight. Evaluations use the average, and saved models
// have it instead of the weight (averages.h).
inline constexpr const char* kAverageState = "average";

// A range of learning rates: the smallest and the largest one.
struct UsualRates {
  double least = 1e-5, most = 1e-4;
};

// A name of an optimizer in DeepSpeed's configurations, with its default values there.
struct DeepSpeedOptimizer {
  std::string type;  // the name; upper and lower case count as equal
  double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;
};

struct Optimizer {
  std::vector<std::string> names;  // the values of --optim that choose this optimizer
  std::string op;                  // name of the op that updates weights (engine/ops)
  Attrs fixed = {};                // attributes of the op that no setting changes
  AdamAttributes adam = {};        // attributes of the op from --adam_beta1, ...
  std::vector<OptimizerArgument> arguments = {};  // attributes of the op from --optim_args
  // Returns H2409 if values of arguments exclude each other. nullptr: all values fit together.
  Status (*check)(const Attrs& attrs) = nullptr;
  // Returns the kinds of states of `op`, in the order of its operands. Names are those of PyTorch and Transformers.
  StateLists (*states)(const Attrs& attrs) = nullptr;
  // Returns whether `op` updates this weight. nullptr: `op` updates all weights. The op `other_op` updates the other
  // weights, with the same values of the attributes that both ops have.
  bool (*is_for)(const UpdateWeight& weight, const Attrs& attrs) = nullptr;
  std::string other_op = {};  // "": there is no second op
  // Returns the kinds of states of `other_op`.
  StateLists (*other_states)(const Attrs& attrs) = nullptr;
  bool needs_targets = false;  // true: --optim_target_modules must name layers
  bool decay_all = false;      // true: weight decay applies to biases and norms too
  bool updates_bf16 = true;    // true: can update weights that are kept only in bf16
  // True: no backend has a kernel for the op. It runs as other ops (its decomposition), and only on the device.
  bool decomposed = false;
  bool averages = false;  // true: has states of the kind kAverageState
  // Usual learning rates to fine-tune a trained model. `hone check` warns if the run's rate is above ten times the
  // largest one.
  UsualRates usual_rates = {};
  std::vector<DeepSpeedOptimizer> deepspeed = {};  // its names in DeepSpeed; empty: it has none
};

std::vector<Optimizer> all_optimizer();  // all optimizers; generated from the files of this folder

}  // namespace hone
