#include "learn/train/update.h"

#include <algorithm>
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

// Weights [begin, end) that one node updates.
struct Group {
  size_t begin = 0, end = 0;
  std::vector<int64_t> rows = {};  // [first, end] of the only one; empty: all
};

bool by_element(const UpdateOptions& o) {
  return op_table().find(optimizer_named(o.optimizer).op)->attr("rows");
}

// Weights whose bytes are at most group_bytes together, or one weight alone.
std::vector<Group> groups_of(const std::vector<UpdateWeight>& weights, int64_t group_bytes) {
  std::vector<Group> groups;
  int64_t bytes = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    if (groups.empty() || bytes + weights[i].type.bytes() > group_bytes) {
      groups.push_back({i, i});
      bytes = 0;
    }
    groups.back().end = i + 1;
    bytes += weights[i].type.bytes();
  }
  return groups;
}

// What one node updates: a group, or some rows of its only weight, at most group_bytes or one row.
std::vector<Group> nodes_of(const std::vector<UpdateWeight>& weights, const UpdateOptions& o) {
  std::vector<Group> nodes;
  for (const Group& g : groups_of(weights, o.group_bytes)) {
    const Type& type = weights[g.begin].type;
    if (type.bytes() <= o.group_bytes || type.shape.empty() || !by_element(o)) {
      nodes.push_back(g);
      continue;
    }
    const int64_t rows = type.shape[0];
    const int64_t most = std::max<int64_t>(1, o.group_bytes / (type.bytes() / rows));
    const int64_t parts = (rows + most - 1) / most;
    for (int64_t part = 0; part < parts; ++part)
      nodes.push_back({g.begin, g.end, {rows * part / parts, rows * (part + 1) / parts}});
  }
  return nodes;
}

// What the rule keeps for a node's weights, zero at first, in the order of its op's operands.
struct Moment {
  State state;
  Type type;
};
std::vector<Moment> moments_of(const std::vector<UpdateWeight>& weights, const Group& node,
                               const UpdateOptions& o) {
  std::vector<Moment> moments;
  const std::vector<UpdateWeight> group(weights.begin() + static_cast<std::ptrdiff_t>(node.begin),
                                        weights.begin() + static_cast<std::ptrdiff_t>(node.end));
  for (OptimizerState& one : update_states(group, o)) {
    Moment& m = moments.emplace_back();
    m.state.role = Role::moment;
    m.state.name = std::move(one.name);
    m.type = std::move(one.type);
    if (node.rows.empty()) continue;
    const int64_t first = node.rows[0], end = node.rows[1];
    m.state.shard = {m.state.name, first, m.type.shape[0]};
    m.state.name += fmt::format("[{}:{}]", first, end);
    m.type.shape[0] = end - first;
  }
  return moments;
}

// Norm, clipping and rule over gradients[i] of weights[i], whose states are there.
// `loss`, where there is one, must be finite too for anything to change.
void emit_update(Program& program, const std::vector<UpdateWeight>& weights,
                 const Values& gradients, const UpdateOptions& options, ValueId loss) {
  Builder b(program);
  const ValueId lr = program.add_input("lr", {DType::f64, {}}),
                step = program.add_input("step", {DType::i64, {}});
  std::unordered_map<std::string, size_t> weight_of;  // in Program::states
  for (size_t i = 0; i < program.states.size(); ++i) weight_of[program.states[i].name] = i;

  const Optimizer& optimizer = optimizer_named(options.optimizer);
  const Type scalar{DType::f64, {}};
  b.set_phase(Phase::update);
  b.set_scope("clip");
  const std::vector<Group> groups = groups_of(weights, options.group_bytes);
  Values squares;
  for (const Group& g : groups)
    squares.push_back(
        ops::sum_squares(b, Values(gradients.begin() + static_cast<std::ptrdiff_t>(g.begin),
                                   gradients.begin() + static_cast<std::ptrdiff_t>(g.end))));
  const ValueId all = squares.size() == 1 ? squares[0] : ops::concat(b, squares, 0);
  const ValueId norm = ops::sqrt(b, ops::reduce_sum(b, all, {0}));
  ValueId g_scale = ops::constant(b, 1.0, scalar);
  if (options.max_grad_norm > 0) {
    // torch.nn.utils.clip_grad_norm_: min(1, max_norm / (norm + 1e-6))
    const ValueId ratio = ops::div(b, ops::constant(b, options.max_grad_norm, scalar),
                                   ops::add(b, norm, ops::constant(b, 1e-6, scalar)));
    g_scale = ops::minimum(b, g_scale, ratio);
  }
  // NaN unless `what` is finite, so that such gradients change nothing
  const auto if_finite = [&](ValueId scale, ValueId what) {
    return ops::add(b, scale, ops::sub(b, what, what));
  };
  const bool waits_for_all = options.max_grad_norm > 0;
  if (waits_for_all) g_scale = if_finite(g_scale, norm);
  if (loss != kNoValue) g_scale = if_finite(g_scale, ops::cast(b, loss, DType::f64));
  // Clipping needs all gradients; without it a group is updated as soon as its own are there.
  std::unordered_map<size_t, ValueId> scale_of;  // by the first weight of a group
  for (size_t i = 0; i < groups.size(); ++i)
    scale_of[groups[i].begin] =
        waits_for_all ? g_scale : if_finite(g_scale, ops::reduce_sum(b, squares[i], {0}));
  b.set_scope(optimizer.op);
  for (const Group& node : nodes_of(weights, options)) {
    ops::UpdateLists lists;
    lists.lr = lr;
    lists.step = step;
    lists.g_scale = scale_of.at(node.begin);
    lists.rows = node.rows;
    std::vector<size_t> results;  // states that get a new version
    for (size_t i = node.begin; i < node.end; ++i) {
      const size_t weight = weight_of.at(weights[i].name);
      const State& s = program.states[weight];
      lists.p.push_back(s.next == kNoValue ? s.value : s.next);  // other rows have been updated
      lists.g.push_back(gradients[i]);
      if (!optimizer.decay_all) lists.decay.push_back(weights[i].decay ? 1 : 0);
      results.push_back(weight);
    }
    for (Moment& m : moments_of(weights, node, options)) {
      results.push_back(program.states.size());
      lists.states.push_back(program.add_state(std::move(m.state), m.type));
    }
    const Values next = ops::update(b, optimizer.op, lists, options.attrs);
    for (size_t i = 0; i < results.size(); ++i) program.states[results[i]].next = next[i];
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
  emit_update(program, weights, gradients, options, program.output_named("loss"));
}

}  // namespace hone
