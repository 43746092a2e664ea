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
// A rule of the optimizer. `own` true: the first rule, with the op Optimizer::op. False: the second rule, with the op
// Optimizer::other_op.
Rule rule_of(const UpdateOptions& o, bool own);
// Whether the optimizer's first rule updates this weight.
bool is_own(const UpdateWeight& w, const UpdateOptions& o);
// Whether the op works on each element by itself, so that it can update some rows of a weight alone.
bool works_by_element(const Rule& rule);
// The factor of the run's learning rate for a weight: UpdateWeight::rate. For the matrices B of a LoRA adapter and for
// weights with one dimension, the factor is multiplied by UpdateOptions::loraplus_lr_ratio, as in PEFT's
// create_loraplus_optimizer.
double rate_factor(const UpdateWeight& w, const UpdateOptions& o);

// The weights [begin, end) of a list. Their gradients are checked together for values that are not finite.
struct WeightGroup {
  size_t begin = 0, end = 0;
};
// Divides the weights into groups of at most `group_bytes` bytes. A larger weight is a group alone.
std::vector<WeightGroup> groups_of(const std::vector<UpdateWeight>& weights, int64_t group_bytes);

// The number of rows that must stay together if a weight is divided into parts: parts with a multiple of this number of
// rows have whole blocks of each state (OptimizerState::block).
int64_t rows_together(const Rule& rule, const Type& weight);

// The weights that one node updates. All have the same rule and the same learning rate.
struct Update {
  size_t group = 0;             // index of the first weight of their group
  std::vector<size_t> weights;  // indices of the weights
  bool own = true;              // true: the optimizer's first rule; false: its second rule
  // {first, end}: the node has one weight and updates only its rows [first, end), counted among the rows on this rank.
  // Empty: all rows.
  std::vector<int64_t> rows = {};
};
// The nodes of the update. `here`: for each weight the type of the part that this rank has. Weights of which this rank
// has no part have no node.
std::vector<Update> updates_of(const std::vector<UpdateWeight>& weights, const Types& here,
                               const std::vector<WeightGroup>& groups, const UpdateOptions& o);

// The states of a rule for the weights with the indices `which`, in the order of the op's operands.
std::vector<OptimizerState> states_of(const std::vector<UpdateWeight>& weights,
                                      const std::vector<size_t>& which, const Rule& rule);

// An optimizer state as a state of the program. At first its values are zeros.
struct Moment {
  State state;
  Type type;
};
// The states of one node, in the order of the op's operands. If the node updates only some rows, the result has the
// parts of the states for these rows. `held`: for each weight the rows that this rank has; empty: all rows.
std::vector<Moment> moments_of(const std::vector<UpdateWeight>& weights, const Update& update,
                               const Rule& rule, const std::vector<RowRange>& held);

// The scalar operands of a node: learning rate, number of the update, and factor of the gradients.
struct UpdateScalars {
  ValueId lr = kNoValue, step = kNoValue, g_scale = kNoValue;
};
// The operands and attributes of a node, except weights, gradients and states, which the caller adds: `scalars`, and
// the attributes that have a value for each weight.
ops::UpdateLists lists_of(const std::vector<UpdateWeight>& weights, const Update& update,
                          const Rule& rule, const UpdateOptions& options,
                          const UpdateScalars& scalars);
// The learning rate of a node: the run's rate `lr` times rate_factor().
ValueId rate_of(Builder& b, const std::vector<UpdateWeight>& weights, const Update& update,
                const UpdateOptions& options, ValueId lr);
// The attributes of `attrs` that the op has.
Attrs known_attrs(const std::string& op, const Attrs& attrs);

// Adds a state kAverageState for each weight and each of options.statistics (timm's ModelEmaV3). The first update sets
// it to the new value of the weight. Each later update sets it to
//   average' = decay average + (1 - decay) weight'     with decay = options.ema_decay
// where ' marks values after the update. A state does not change if the factor of its gradients is not finite.
// `scales`: the factor of the gradients of each weight; statistics use the first one. `step`: number of the update.
// This rank must have all rows of each weight.
void emit_averages(Builder& b, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& options, ValueId step, const Values& scales);

// Removes the outputs "grad.<weight>" of a program and returns their values in the order of `weights`.
Values take_gradients(Program& program, const std::vector<UpdateWeight>& weights);

// A value that is `scale` if `what` is finite, else NaN. An update whose factor of the gradients is NaN changes
// nothing.
ValueId if_finite(Builder& b, ValueId scale, ValueId what);

}  // namespace hone
