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

// Lists of weights whose bytes are at most kGroupBytes together, or one weight alone.
std::vector<std::vector<UpdateWeight>> groups_of(const std::vector<UpdateWeight>& weights) {
  std::vector<std::vector<UpdateWeight>> groups;
  int64_t bytes = 0;
  for (const UpdateWeight& w : weights) {
    if (groups.empty() || bytes + w.type.bytes() > kGroupBytes) {
      groups.emplace_back();
      bytes = 0;
    }
    groups.back().push_back(w);
    bytes += w.type.bytes();
  }
  return groups;
}

}  // namespace

Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options) {
  Program program(op_table(), "update");
  Builder b(program);
  const ValueId lr = program.add_input("lr", {DType::f64, {}}),
                step = program.add_input("step", {DType::i64, {}});
  std::unordered_map<std::string, size_t> index;  // of a state, by name
  auto state = [&](const std::string& name, Role role, const Type& type) {
    index[name] = program.states.size();
    State s;
    s.name = name;
    s.role = role;
    s.trainable = role == Role::param;
    return program.add_state(std::move(s), type);
  };
  for (const UpdateWeight& w : weights) {
    state(w.name, Role::param, w.type);
    state(grad_name(w.name), Role::grad, w.type);
  }
  for (const OptimizerState& s : update_states(weights, options))
    state(s.name, Role::moment, s.type);
  auto value = [&](const std::string& name) { return program.states[index.at(name)].value; };
  const std::vector<std::vector<UpdateWeight>> groups = groups_of(weights);

  const Optimizer& optimizer = optimizer_named(options.optimizer);
  const Type scalar{DType::f64, {}};
  b.set_phase(Phase::update);
  b.set_scope("clip");
  Values squares;
  for (const std::vector<UpdateWeight>& group : groups) {
    Values gradients;
    for (const UpdateWeight& w : group) gradients.push_back(value(grad_name(w.name)));
    squares.push_back(ops::sum_squares(b, gradients));
  }
  const ValueId all = squares.size() == 1 ? squares[0] : ops::concat(b, squares, 0);
  const ValueId norm = ops::sqrt(b, ops::reduce_sum(b, all, {0}));
  ValueId g_scale = ops::constant(b, 1.0, scalar);
  if (options.max_grad_norm > 0) {
    // torch.nn.utils.clip_grad_norm_: min(1, max_norm / (norm + 1e-6))
    const ValueId ratio = ops::div(b, ops::constant(b, options.max_grad_norm, scalar),
                                   ops::add(b, norm, ops::constant(b, 1e-6, scalar)));
    g_scale = ops::minimum(b, g_scale, ratio);
  }
  // NaN unless the norm is finite, so that such gradients change nothing
  g_scale = ops::add(b, g_scale, ops::sub(b, norm, norm));
  b.set_scope(optimizer.op);
  for (const std::vector<UpdateWeight>& group : groups) {
    ops::UpdateLists lists;
    lists.lr = lr;
    lists.step = step;
    lists.g_scale = g_scale;
    std::vector<std::string> results;
    for (const UpdateWeight& w : group) {
      lists.p.push_back(value(w.name));
      lists.g.push_back(value(grad_name(w.name)));
      if (!optimizer.decay_all) lists.decay.push_back(w.decay ? 1 : 0);
      results.push_back(w.name);
    }
    for (const OptimizerState& s : update_states(group, options)) {
      lists.states.push_back(value(s.name));
      results.push_back(s.name);
    }
    const Values next = ops::update(b, optimizer.op, lists, options.attrs);
    for (size_t i = 0; i < results.size(); ++i) program.states[index.at(results[i])].next = next[i];
  }
  program.outputs.push_back({"grad_norm", norm});
  return program;
}

}  // namespace hone
