// Internal to the update program (update.h): divides the weights into groups, and finds the rule, the states and the
// operands of each node of the update.
#pragma once

#include "engine/ops/ops.h"
#include "learn/train/update_options.h"

namespace hone {

// The rule by which the optimizer updates some weights: an op with its states. Optimizers that treat some weights
// differently, such as Muon, have a second rule.
struct Rule {
  std::string op;
  StateLists states;
};
// The optimizer's first rule (`own`: Optimizer::op), or its second rule (Optimizer::other_op).
Rule rule_of(const UpdateOptions& o, bool own);
bool is_own(const UpdateWeight& w, const UpdateOptions& o);  // the first rule updates this weight
// The op works on each element by itself, so also on some rows of a weight.
bool works_by_element(const Rule& rule);
// The factor of the run's learning rate for a weight: UpdateWeight::rate, and for the matrices B of a LoRA adapter and
// for vectors also LoRA+'s ratio, as in PEFT's create_loraplus_optimizer.
double rate_factor(const UpdateWeight& w, const UpdateOptions& o);

// The weights [begin, end), whose gradients are checked together for values that are not finite.
struct WeightGroup {
  size_t begin = 0, end = 0;
};
// Divides the weights into groups of at most `group_bytes` bytes. A larger weight is a group alone.
std::vector<WeightGroup> groups_of(const std::vector<UpdateWeight>& weights, int64_t group_bytes);

// The number of rows that must stay together if a weight is divided: a part with a multiple of this number of rows has
// whole blocks of each state (OptimizerState::block).
int64_t rows_together(const Rule& rule, const Type& weight);

// The weights that one node updates, as indices. All have the same rule and the same learning rate.
struct Update {
  size_t group = 0;             // index of the first weight of their group
  std::vector<size_t> weights;  // indices
  bool own = true;              // true: by the optimizer's first rule
  // {first, end}: the node updates only these rows of its only weight, counted among the rows on this rank. Empty: all
  // rows.
  std::vector<int64_t> rows = {};
};
// The nodes of the update. `here`: the type of each weight on this rank. Weights that are completely on other ranks
// have no node.
std::vector<Update> updates_of(const std::vector<UpdateWeight>& weights, const Types& here,
                               const std::vector<WeightGroup>& groups, const UpdateOptions& o);

// The states of a rule for the weights with the indices `which`, in the order of the op's operands.
std::vector<OptimizerState> states_of(const std::vector<UpdateWeight>& weights,
                                      const std::vector<size_t>& which, const Rule& rule);

// An optimizer state as a state of the program. Its values are zeros at first.
struct Moment {
  State state;
  Type type;
};
// The states of one node, in the order of the op's operands. A node that updates some rows has the parts of the states
// for these rows. `held`: the rows of each weight on this rank; empty: all rows.
std::vector<Moment> moments_of(const std::vector<UpdateWeight>& weights, const Update& update,
                               const Rule& rule, const std::vector<RowRange>& held);

// The scalar operands of a node: learning rate, number of the update, and factor of the gradients.
struct UpdateScalars {
  ValueId lr = kNoValue, step = kNoValue, g_scale = kNoValue;
};
// The scalar operands and the attributes with a value for each weight. The caller adds weights, gradients and states.
ops::UpdateLists lists_of(const std::vector<UpdateWeight>& weights, const Update& update,
                          const Rule& rule, const UpdateOptions& options,
                          const UpdateScalars& scalars);
// The learning rate of a node: the run's rate `lr` times rate_factor().
ValueId rate_of(Builder& b, const std::vector<UpdateWeight>& weights, const Update& update,
                const UpdateOptions& options, ValueId lr);
// The attributes of `attrs` that the op has.
Attrs known_attrs(const std::string& op, const Attrs& attrs);

// Adds a state kAverageState for each weight and each of options.statistics (timm's ModelEmaV3). After the first
// update it is the new weight; afterwards
//   average' = decay average + (1 - decay) weight'     with decay = options.ema_decay
// A state does not change if the scale of its gradients is not finite. `scales`: the factor of the gradients of each
// weight; statistics use the first one. `step`: number of the update. Each weight must be complete on this rank.
void emit_averages(Builder& b, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& options, ValueId step, const Values& scales);

// Removes the outputs "grad.<weight>" of a program and returns their values in the order of `weights`.
Values take_gradients(Program& program, const std::vector<UpdateWeight>& weights);

// `scale` if `what` is finite, else NaN. An update with the scale NaN changes nothing.
ValueId if_finite(Builder& b, ValueId scale, ValueId what);

}  // namespace hone
