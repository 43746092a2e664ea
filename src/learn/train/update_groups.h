// The weights of an update in groups, and the rule and the states of each of its nodes.
#pragma once

#include "engine/ops/ops.h"
#include "learn/train/update_options.h"

namespace hone {

// One of the optimizer's two rules.
struct Rule {
  std::string op;
  StateLists states;
};
Rule rule_of(const UpdateOptions& o, bool own);
bool is_own(const UpdateWeight& w, const UpdateOptions& o);  // of the first rule
bool works_by_element(const Rule& rule);                     // and takes some rows of a weight
// The weight's own rate times LoRA+'s ratio, which matrices B of an adapter and vectors have, as in PEFT's
// create_loraplus_optimizer.
double rate_factor(const UpdateWeight& w, const UpdateOptions& o);

// Weights [begin, end) whose gradients are looked at together.
struct WeightGroup {
  size_t begin = 0, end = 0;
};
// Weights whose bytes are at most group_bytes together, or one weight alone.
std::vector<WeightGroup> groups_of(const std::vector<UpdateWeight>& weights, int64_t group_bytes);

// Rows of which a part of a weight holds a multiple, so that its states are whole blocks.
int64_t rows_together(const Rule& rule, const Type& weight);

// Tensors that one node updates.
struct Update {
  size_t group = 0;                // the first weight of its group
  std::vector<size_t> weights;     // all by one rule, with one rate
  bool own = true;                 // the optimizer's own
  std::vector<int64_t> rows = {};  // [first, end] of the only weight's here; empty: all
};
// `here`: the type of each weight on this rank; weights that are wholly on other ranks have no update.
std::vector<Update> updates_of(const std::vector<UpdateWeight>& weights, const Types& here,
                               const std::vector<WeightGroup>& groups, const UpdateOptions& o);

// States of a rule for some weights, in the order of its op's operands.
std::vector<OptimizerState> states_of(const std::vector<UpdateWeight>& weights,
                                      const std::vector<size_t>& which, const Rule& rule);

// A state of a rule as a state of the program, zero at first. An update of some rows has only the
// parts for these rows.
struct Moment {
  State state;
  Type type;
};
// `held`: by weight, the rows on this rank; empty: all of each weight.
std::vector<Moment> moments_of(const std::vector<UpdateWeight>& weights, const Update& update,
                               const Rule& rule, const std::vector<RowRange>& held);

// The operands of an update but the gradients and states, and those of its op's attributes that
// hold one value for each weight.
struct UpdateScalars {
  ValueId lr = kNoValue, step = kNoValue, g_scale = kNoValue;
};
ops::UpdateLists lists_of(const std::vector<UpdateWeight>& weights, const Update& update,
                          const Rule& rule, const UpdateOptions& options,
                          const UpdateScalars& scalars);
// The learning rate of an update, from that of the run.
ValueId rate_of(Builder& b, const std::vector<UpdateWeight>& weights, const Update& update,
                const UpdateOptions& options, ValueId lr);
// Those of the attributes that the op knows.
Attrs known_attrs(const std::string& op, const Attrs& attrs);

// Adds a state kAverageState for each weight: the weight after the first update, then
//   average' = decay average + (1 - decay) weight'
// and nothing if the scale of the weight's gradients is not finite; the same for options.statistics, by the first
// weight's scale (timm's ModelEmaV3). `scales`: by weight. Weights are whole.
void emit_averages(Builder& b, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& options, ValueId step, const Values& scales);

// The outputs "grad.<weight>" of a program, which are outputs no longer.
Values take_gradients(Program& program, const std::vector<UpdateWeight>& weights);

// `scale`, or NaN unless `what` is finite, so that such gradients change nothing.
ValueId if_finite(Builder& b, ValueId scale, ValueId what);

}  // namespace hone
