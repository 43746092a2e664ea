#include "learn/train/update.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/core/philox.h"
#include "engine/ops/ops.h"
#include "engine/passes/differentiate.h"

namespace hone {

namespace {

// One of the optimizer's two rules.
struct Rule {
  std::string op;
  StateLists states;
};
Rule rule_of(const UpdateOptions& o, bool own) {
  const Optimizer& optimizer = optimizer_named(o.optimizer);
  if (own) return {optimizer.op, optimizer.states(o.attrs)};
  return {optimizer.other_op, optimizer.other_states(o.attrs)};
}
bool is_own(const UpdateWeight& w, const UpdateOptions& o) {
  const Optimizer& optimizer = optimizer_named(o.optimizer);
  return !optimizer.is_for || optimizer.is_for(w);
}

// Weights [begin, end) whose gradients are looked at together.
struct Group {
  size_t begin = 0, end = 0;
};

// Tensors that one node updates.
struct Update {
  size_t group = 0;                // the first weight of its group
  std::vector<size_t> weights;     // all by one rule
  bool own = true;                 // the optimizer's own
  std::vector<int64_t> rows = {};  // [first, end] of the only weight; empty: all
};

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

// Rows of which a part of a weight holds a multiple, so that its states are whole blocks.
int64_t rows_together(const Rule& rule, const Type& weight) {
  int64_t rows = 1;
  for (const StateList& list : rule.states)
    if (const auto one = list(weight); one && one->block > 0)
      rows = std::lcm(rows, one->block / std::gcd(one->block, weight.count() / weight.shape[0]));
  return rows;
}

// Parts of at most group_bytes, or as few rows as can be.
void add_parts(std::vector<Update>& updates, size_t weight, bool own, const Type& type,
               const UpdateOptions& o) {
  const Rule rule = rule_of(o, own);
  if (type.bytes() <= o.group_bytes || type.shape.empty() ||
      !op_table().find(rule.op)->attr("rows")) {
    updates.push_back({weight, {weight}, own});
    return;
  }
  const int64_t rows = type.shape[0], together = rows_together(rule, type);
  const int64_t units = (rows + together - 1) / together;
  const int64_t most = std::max<int64_t>(1, o.group_bytes / (type.bytes() / rows) / together);
  const int64_t parts = (units + most - 1) / most;
  for (int64_t part = 0; part < parts; ++part)
    updates.push_back(
        {weight,
         {weight},
         own,
         {units * part / parts * together, std::min(rows, units * (part + 1) / parts * together)}});
}

std::vector<Update> updates_of(const std::vector<UpdateWeight>& weights, const UpdateOptions& o) {
  std::vector<Update> updates;
  for (const Group& g : groups_of(weights, o.group_bytes)) {
    if (g.end - g.begin == 1) {
      add_parts(updates, g.begin, is_own(weights[g.begin], o), weights[g.begin].type, o);
      continue;
    }
    for (const bool own : {true, false}) {
      Update u{g.begin, {}, own};
      for (size_t i = g.begin; i < g.end; ++i)
        if (is_own(weights[i], o) == own) u.weights.push_back(i);
      if (!u.weights.empty()) updates.push_back(std::move(u));
    }
  }
  return updates;
}

// States of a rule for some weights, in the order of its op's operands.
std::vector<OptimizerState> states_of(const std::vector<UpdateWeight>& weights,
                                      const std::vector<size_t>& which, const Rule& rule) {
  std::vector<OptimizerState> states;
  for (const StateList& list : rule.states)
    for (const size_t i : which)
      if (std::optional<OptimizerState> one = list(weights[i].type)) {
        one->name += "." + weights[i].name;
        states.push_back(std::move(*one));
      }
  return states;
}

// The states of a rule as states of the program, zero at first. An update of some rows has only the
// parts for these rows.
struct Moment {
  State state;
  Type type;
};
std::vector<Moment> moments_of(const std::vector<UpdateWeight>& weights, const Update& update,
                               const Rule& rule) {
  std::vector<Moment> moments;
  for (OptimizerState& one : states_of(weights, update.weights, rule)) {
    Moment& m = moments.emplace_back();
    m.state.role = Role::moment;
    m.state.name = std::move(one.name);
    m.type = std::move(one.type);
    if (update.rows.empty()) continue;
    int64_t first = update.rows[0], end = update.rows[1];
    if (one.block > 0) {
      const Type& weight = weights[update.weights[0]].type;
      const int64_t row = weight.count() / weight.shape[0];
      first = first * row / one.block;
      end = (end * row + one.block - 1) / one.block;
    }
    m.state.shard = {m.state.name, first, m.type.shape[0]};
    m.state.name += fmt::format("[{}:{}]", first, end);
    m.type.shape[0] = end - first;
  }
  return moments;
}

// Names the random numbers of a weight.
int64_t key_of(uint64_t seed, const std::string& weight) {
  const DropoutKey key = dropout_key(seed, 0, scope_hash(weight));
  return static_cast<int64_t>(uint64_t{key.k1} << 32 | key.k0);
}

// Those of the attributes that the op knows.
Attrs known_attrs(const std::string& op, const Attrs& attrs) {
  Attrs known;
  for (const auto& [name, value] : attrs.all())
    if (op_table().find(op)->attr(name)) known.set(name, value);
  return known;
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
  b.set_phase(Phase::update);
  b.set_scope("clip");
  const std::vector<Group> groups = groups_of(weights, options.group_bytes);
  Values squares;
  for (const Group& g : groups)
    squares.push_back(
        ops::sum_squares(b, Values(gradients.begin() + static_cast<std::ptrdiff_t>(g.begin),
                                   gradients.begin() + static_cast<std::ptrdiff_t>(g.end))));
  const ValueId all = squares.size() == 1 ? squares[0] : ops::concat(b, squares, 0);
  const ValueId loss_scale =
      options.scaled ? program.add_input("loss_scale", {DType::f64, {}}) : kNoValue;
  // NaN unless `what` is finite, so that such gradients change nothing
  const auto if_finite = [&](ValueId scale, ValueId what) {
    return ops::add(b, scale, ops::sub(b, what, what));
  };
  const bool waits_for_all = options.max_grad_norm > 0 || options.all_or_nothing;
  auto [norm, g_scale] = ops::clip_scale(b, all, loss_scale, loss, options.max_grad_norm);
  if (!waits_for_all) {
    const ValueId one = ops::constant(b, 1.0, {DType::f64, {}});
    g_scale = loss_scale == kNoValue ? one : ops::div(b, one, loss_scale);
    if (loss != kNoValue) g_scale = if_finite(g_scale, ops::cast(b, loss, DType::f64));
  }
  // Clipping needs all gradients; without it a group is updated as soon as its own are there.
  std::unordered_map<size_t, ValueId> scale_of;  // by the first weight of a group
  for (size_t i = 0; i < groups.size(); ++i)
    scale_of[groups[i].begin] =
        waits_for_all ? g_scale : if_finite(g_scale, ops::reduce_sum(b, squares[i], {0}));
  for (const Update& update : updates_of(weights, options)) {
    const Rule rule = rule_of(options, update.own);
    b.set_scope(rule.op);
    ops::UpdateLists lists;
    lists.lr = lr;
    lists.step = step;
    lists.g_scale = scale_of.at(update.group);
    lists.rows = update.rows;
    std::vector<size_t> results;  // states that get a new version
    for (const size_t i : update.weights) {
      const size_t weight = weight_of.at(weights[i].name);
      const State& s = program.states[weight];
      lists.p.push_back(s.next == kNoValue ? s.value : s.next);  // other rows have been updated
      lists.g.push_back(gradients[i]);
      if (!optimizer.decay_all) lists.decay.push_back(weights[i].decay ? 1 : 0);
      if (op_table().find(rule.op)->attr("keys"))
        lists.keys.push_back(key_of(options.seed, weights[i].name));
      if (options.stochastic_rounding && weights[i].type.dtype == DType::bf16)
        lists.round_keys.push_back(key_of(options.seed, weights[i].name));
      results.push_back(weight);
    }
    for (Moment& m : moments_of(weights, update, rule)) {
      results.push_back(program.states.size());
      lists.states.push_back(program.add_state(std::move(m.state), m.type));
    }
    const Values next = ops::update(b, rule.op, lists, known_attrs(rule.op, options.attrs));
    for (size_t i = 0; i < results.size(); ++i) program.states[results[i]].next = next[i];
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
  return states;
}

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
    gradients.push_back(program.add_state(std::move(s), gradient_type(w.type, options.gradients)));
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
