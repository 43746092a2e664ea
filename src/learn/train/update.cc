#include "learn/train/update.h"

#include <algorithm>
#include <unordered_map>

#include "engine/passes/differentiate.h"
#include "learn/train/shared_update.h"
#include "learn/train/update_groups.h"

namespace hone {

namespace {

// Norm, clipping and rule over gradients[i] of weights[i], whose states are there.
// `loss`, where there is one, must be finite too for anything to change.
void emit_update(Program& program, const std::vector<UpdateWeight>& weights,
                 const Values& gradients, const UpdateOptions& options, ValueId loss) {
  Builder b(program);
  const ValueId lr = program.add_input("lr", {DType::f64, {}}),
                step = program.add_input("step", {DType::i64, {}});
  std::unordered_map<std::string, size_t> weight_of;  // in Program::states
  for (size_t i = 0; i < program.states.size(); ++i) weight_of[program.states[i].name] = i;

  b.set_phase(Phase::update);
  b.set_scope("clip");
  const std::vector<WeightGroup> groups = groups_of(weights, options.group_bytes);
  Values squares;
  for (const WeightGroup& g : groups)
    squares.push_back(
        ops::sum_squares(b, Values(gradients.begin() + static_cast<std::ptrdiff_t>(g.begin),
                                   gradients.begin() + static_cast<std::ptrdiff_t>(g.end))));
  const ValueId all = squares.size() == 1 ? squares[0] : ops::concat(b, squares, 0);
  const ValueId loss_scale =
      options.scaled ? program.add_input("loss_scale", {DType::f64, {}}) : kNoValue;
  const bool waits_for_all = options.max_grad_norm > 0 || options.all_or_nothing;
  auto [norm, g_scale] = ops::clip_scale(b, all, loss_scale, loss, options.max_grad_norm);
  if (!waits_for_all) {
    const ValueId one = ops::constant(b, 1.0, {DType::f64, {}});
    g_scale = loss_scale == kNoValue ? one : ops::div(b, one, loss_scale);
    if (loss != kNoValue) g_scale = if_finite(b, g_scale, ops::cast(b, loss, DType::f64));
  }
  // Clipping needs all gradients; without it a group is updated as soon as its own are there.
  std::unordered_map<size_t, ValueId> scale_of;  // by the first weight of a group
  for (size_t i = 0; i < groups.size(); ++i)
    scale_of[groups[i].begin] =
        waits_for_all ? g_scale : if_finite(b, g_scale, ops::reduce_sum(b, squares[i], {0}));
  Types types;
  for (const UpdateWeight& w : weights) types.push_back(w.type);
  for (const Update& update : updates_of(weights, types, groups, options)) {
    const Rule rule = rule_of(options, update.own);
    b.set_scope(rule.op);
    ops::UpdateLists lists =
        lists_of(weights, update, rule, options,
                 {rate_of(b, weights, update, options, lr), step, scale_of.at(update.group)});
    std::vector<size_t> results;  // states that get a new version
    for (const size_t i : update.weights) {
      const size_t weight = weight_of.at(weights[i].name);
      const State& s = program.states[weight];
      lists.p.push_back(s.next == kNoValue ? s.value : s.next);  // other rows have been updated
      lists.g.push_back(gradients[i]);
      results.push_back(weight);
    }
    for (Moment& m : moments_of(weights, update, rule, {})) {
      results.push_back(program.states.size());
      lists.states.push_back(program.add_state(std::move(m.state), m.type));
    }
    const Values next = ops::update(b, rule.op, lists, known_attrs(rule.op, options.attrs));
    for (size_t i = 0; i < results.size(); ++i) program.states[results[i]].next = next[i];
  }
  if (options.ema_decay > 0) {
    Values scales;
    for (const WeightGroup& g : groups) scales.resize(g.end, scale_of.at(g.begin));
    emit_averages(b, weights, options, step, scales);
  }
  program.outputs.push_back({"grad_norm", norm});
}

}  // namespace

std::vector<OptimizerState> update_states(const std::vector<UpdateWeight>& weights,
                                          const UpdateOptions& options) {
  std::vector<OptimizerState> states;
  for (const bool own : {true, false}) {
    std::vector<size_t> which;
    for (size_t i = 0; i < weights.size(); ++i)
      if (is_own(weights[i], options) == own) which.push_back(i);
    if (which.empty()) continue;
    for (OptimizerState& one : states_of(weights, which, rule_of(options, own)))
      states.push_back(std::move(one));
  }
  if (options.ema_decay > 0) {
    for (const UpdateWeight& w : weights)
      states.push_back({fmt::format("{}.{}", kAverageState, w.name), w.type});
    for (const auto& [name, shape] : options.statistics)
      states.push_back({fmt::format("{}.{}", kAverageState, name), {DType::f32, shape}});
  }
  return states;
}

Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options) {
  Program program(op_table(), "update");
  const std::vector<WeightSplit> splits = split_weights(weights, options);
  Values gradients;
  for (size_t i = 0; i < weights.size(); ++i) {
    State s;
    s.name = weights[i].name;
    s.trainable = true;
    program.add_state(std::move(s), weights[i].type);
    std::optional<GradientState> g = gradient_state(weights[i], splits[i], options);
    gradients.push_back(g ? program.add_state(std::move(g->state), g->type) : kNoValue);
  }
  if (options.is_shared())
    emit_shared_update(program, weights, gradients, options, kNoValue, options.stage >= 2);
  else
    emit_update(program, weights, gradients, options, kNoValue);
  return program;
}

void append_update(Program& program, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& options) {
  const Values gradients = take_gradients(program, weights);
  const ValueId loss = program.output_named("loss");
  if (options.is_shared())
    emit_shared_update(program, weights, gradients, options, loss, false);
  else
    emit_update(program, weights, gradients, options, loss);
}

}  // namespace hone
