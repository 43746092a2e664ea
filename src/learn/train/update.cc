#include "learn/train/update.h"

#include <unordered_map>

#include "engine/ops/ops.h"
#include "engine/passes/differentiate.h"

namespace hone {

std::vector<OptimizerState> update_states(const std::vector<UpdateWeight>& weights,
                                          const UpdateOptions& options) {
  std::vector<OptimizerState> states;
  for (const StateList& list : optimizer_named(options.optimizer).states(options.attrs))
    for (const UpdateWeight& w : weights)
      if (const std::optional<OptimizerState> one = list(w.type))
        states.push_back({one->name + "." + w.name, one->type});
  return states;
}

namespace {

constexpr int64_t kGroupBytes = int64_t{64} << 20;

// Weights [begin, end) whose bytes are at most kGroupBytes together, or one weight alone.
std::vector<std::pair<size_t, size_t>> groups_of(const std::vector<UpdateWeight>& weights) {
  std::vector<std::pair<size_t, size_t>> groups;
  int64_t bytes = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (groups.empty() || bytes + weights[i].type.bytes() > kGroupBytes) {
      groups.push_back({i, i});
      bytes = 0;
    }
    groups.back().second = i + 1;
    bytes += weights[i].type.bytes();
  }
  return groups;
}

// The states of the rule, zero at first.
void add_moments(Program& p, const std::vector<UpdateWeight>& weights, const UpdateOptions& o) {
  for (const OptimizerState& m : update_states(weights, o)) {
    State s;
    s.name = m.name;
    s.role = Role::moment;
    p.add_state(std::move(s), m.type);
  }
}

// Norm, clipping and rule over gradients[i] of weights[i], whose states and moments are there.
// `loss`, where there is one, must be finite too for anything to change.
void emit_update(Program& program, const std::vector<UpdateWeight>& weights,
                 const Values& gradients, const UpdateOptions& options, ValueId loss) {
  Builder b(program);
  const ValueId lr = program.add_input("lr", {DType::f64, {}}),
                step = program.add_input("step", {DType::i64, {}});
  std::unordered_map<std::string_view, State*> states;
  for (State& s : program.states) states[s.name] = &s;
  auto value = [&](const std::string& name) { return states.at(name)->value; };
  const std::vector<std::pair<size_t, size_t>> groups = groups_of(weights);

  const Optimizer& optimizer = optimizer_named(options.optimizer);
  const Type scalar{DType::f64, {}};
  b.set_phase(Phase::update);
  b.set_scope("clip");
  Values squares;
  for (const auto& [begin, end] : groups)
    squares.push_back(
        ops::sum_squares(b, Values(gradients.begin() + static_cast<std::ptrdiff_t>(begin),
                                   gradients.begin() + static_cast<std::ptrdiff_t>(end))));
  const ValueId all = squares.size() == 1 ? squares[0] : ops::concat(b, squares, 0);
  const ValueId norm = ops::sqrt(b, ops::reduce_sum(b, all, {0}));
  ValueId g_scale = ops::constant(b, 1.0, scalar);
  if (options.max_grad_norm > 0) {
    // torch.nn.utils.clip_grad_norm_: min(1, max_norm / (norm + 1e-6))
    const ValueId ratio = ops::div(b, ops::constant(b, options.max_grad_norm, scalar),
                                   ops::add(b, norm, ops::constant(b, 1e-6, scalar)));
    g_scale = ops::minimum(b, g_scale, ratio);
  }
  // NaN unless norm and loss are finite, so that such gradients change nothing
  g_scale = ops::add(b, g_scale, ops::sub(b, norm, norm));
  if (loss != kNoValue) {
    const ValueId wide = ops::cast(b, loss, DType::f64);
    g_scale = ops::add(b, g_scale, ops::sub(b, wide, wide));
  }
  b.set_scope(optimizer.op);
  for (const auto& [begin, end] : groups) {
    ops::UpdateLists lists;
    lists.lr = lr;
    lists.step = step;
    lists.g_scale = g_scale;
    std::vector<std::string> results;
    for (size_t i = begin; i < end; ++i) {
      lists.p.push_back(value(weights[i].name));
      lists.g.push_back(gradients[i]);
      if (!optimizer.decay_all) lists.decay.push_back(weights[i].decay ? 1 : 0);
      results.push_back(weights[i].name);
    }
    const std::vector<UpdateWeight> group(weights.begin() + static_cast<std::ptrdiff_t>(begin),
                                          weights.begin() + static_cast<std::ptrdiff_t>(end));
    for (const OptimizerState& s : update_states(group, options)) {
      lists.states.push_back(value(s.name));
      results.push_back(s.name);
    }
    const Values next = ops::update(b, optimizer.op, lists, options.attrs);
    for (size_t i = 0; i < results.size(); ++i) states.at(results[i])->next = next[i];
  }
  program.outputs.push_back({"grad_norm", norm});
}

}  // namespace

Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options) {
  Program program(op_table(), "update");
  Values gradients;
  for (const UpdateWeight& w : weights) {
    State s;
    s.name = w.name;
    s.trainable = true;
    program.add_state(s, w.type);
    s.name = grad_name(w.name);
    s.role = Role::grad;
    s.trainable = false;
    gradients.push_back(program.add_state(std::move(s), w.type));
  }
  add_moments(program, weights, options);
  emit_update(program, weights, gradients, options, kNoValue);
  return program;
}

void append_update(Program& program, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& options) {
  std::unordered_map<std::string_view, ValueId> outputs;
  for (const Named& o : program.outputs) outputs[o.name] = o.value;
  Values gradients;
  for (const UpdateWeight& w : weights) {
    const auto g = outputs.find(grad_name(w.name));
    HONE_BUG_IF(g == outputs.end(), "program {} has no gradient of '{}'", program.name, w.name);
    gradients.push_back(g->second);
  }
  std::erase_if(program.outputs, [](const Named& o) { return o.name.starts_with(grad_name("")); });
  add_moments(program, weights, options);
  emit_update(program, weights, gradients, options, program.output_named("loss"));
}

}  // namespace hone
