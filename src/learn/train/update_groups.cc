#include "learn/train/update_groups.h"

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "base/core/philox.h"
#include "engine/passes/differentiate.h"

namespace hone {

Rule rule_of(const UpdateOptions& o, bool own) {
  const Optimizer& optimizer = optimizer_named(o.optimizer);
  if (own) return {optimizer.op, optimizer.states(o.attrs)};
  return {optimizer.other_op, optimizer.other_states(o.attrs)};
}

bool is_own(const UpdateWeight& w, const UpdateOptions& o) {
  const Optimizer& optimizer = optimizer_named(o.optimizer);
  return !optimizer.is_for || optimizer.is_for(w, o.attrs);
}

double rate_factor(const UpdateWeight& w, const UpdateOptions& o) {
  const bool faster = w.name.find("lora_B") != std::string::npos || w.type.rank() == 1;
  return faster ? w.rate * o.loraplus_lr_ratio : w.rate;
}

ValueId rate_of(Builder& b, const std::vector<UpdateWeight>& weights, const Update& update,
                const UpdateOptions& options, ValueId lr) {
  const double factor = rate_factor(weights[update.weights.front()], options);
  return factor == 1 ? lr : ops::mul(b, lr, ops::constant(b, factor, {DType::f64, {}}));
}

bool works_by_element(const Rule& rule) {
  return op_table().find(rule.op)->attr("rows") != nullptr;
}

std::vector<WeightGroup> groups_of(const std::vector<UpdateWeight>& weights, int64_t group_bytes) {
  std::vector<WeightGroup> groups;
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

int64_t rows_together(const Rule& rule, const Type& weight) {
  int64_t rows = 1;
  for (const StateList& list : rule.states)
    if (const auto one = list(weight); one && one->block > 0)
      rows = std::lcm(rows, one->block / std::gcd(one->block, weight.count() / weight.shape[0]));
  return rows;
}

namespace {

// Parts of at most group_bytes, or as few rows as can be.
void add_parts(std::vector<Update>& updates, size_t weight, bool own, const Type& type,
               const UpdateOptions& o) {
  const Rule rule = rule_of(o, own);
  if (type.bytes() <= o.group_bytes || type.shape.empty() || !works_by_element(rule)) {
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

// The factors of the group's rates: 1, then the others in the order of the weights.
std::vector<double> factors_of(const std::vector<UpdateWeight>& weights, const WeightGroup& group,
                               const UpdateOptions& o) {
  std::vector<double> factors{1};
  for (size_t i = group.begin; i < group.end; ++i)
    if (const double factor = rate_factor(weights[i], o);
        std::find(factors.begin(), factors.end(), factor) == factors.end())
      factors.push_back(factor);
  return factors;
}

// Names the random numbers of a weight.
int64_t key_of(uint64_t seed, const std::string& weight) {
  const DropoutKey key = dropout_key(seed, 0, scope_hash(weight));
  return static_cast<int64_t>(uint64_t{key.k1} << 32 | key.k0);
}

}  // namespace

std::vector<Update> updates_of(const std::vector<UpdateWeight>& weights, const Types& here,
                               const std::vector<WeightGroup>& groups, const UpdateOptions& o) {
  std::vector<Update> updates;
  const auto is_elsewhere = [&](size_t i) {
    return here[i].count() == 0 && weights[i].type.count() > 0;
  };
  for (const WeightGroup& g : groups) {
    if (g.end - g.begin == 1) {
      if (!is_elsewhere(g.begin))
        add_parts(updates, g.begin, is_own(weights[g.begin], o), here[g.begin], o);
      continue;
    }
    const std::vector<double> factors = factors_of(weights, g, o);
    for (const bool own : {true, false})
      for (const double factor : factors) {
        Update u{g.begin, {}, own};
        for (size_t i = g.begin; i < g.end; ++i)
          if (is_own(weights[i], o) == own && rate_factor(weights[i], o) == factor &&
              !is_elsewhere(i))
            u.weights.push_back(i);
        if (!u.weights.empty()) updates.push_back(std::move(u));
      }
  }
  return updates;
}

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

namespace {

// Rows of the weight as rows of one of its states.
RowRange rows_of_state(const OptimizerState& state, const Type& weight, const RowRange& rows) {
  if (state.block == 0) return rows;
  const int64_t row = weight.count() / weight.shape[0];
  return {rows.begin * row / state.block, (rows.end * row + state.block - 1) / state.block};
}

Moment moment_of(OptimizerState one, const Type& weight, const RowRange& held,
                 const std::vector<int64_t>& part) {
  Moment m;
  m.state.role = Role::moment;
  m.state.name = one.name;
  m.type = one.type;
  const bool is_whole = weight.shape.empty() || held == RowRange{0, weight.shape[0]};
  if (is_whole && part.empty()) return m;
  const RowRange of_weight =
      part.empty() ? held : RowRange{held.begin + part[0], held.begin + part[1]};
  const RowRange rows = rows_of_state(one, weight, of_weight);
  m.state.shard = {one.name, rows.begin, m.type.shape[0]};
  if (!is_whole) m.state.shard.held = rows_of_state(one, weight, held);
  m.state.name += fmt::format("[{}:{}]", rows.begin, rows.end);
  m.type.shape[0] = rows.count();
  return m;
}

}  // namespace

std::vector<Moment> moments_of(const std::vector<UpdateWeight>& weights, const Update& update,
                               const Rule& rule, const std::vector<RowRange>& held) {
  std::vector<Moment> moments;
  for (const StateList& list : rule.states)
    for (const size_t i : update.weights) {
      std::optional<OptimizerState> one = list(weights[i].type);
      if (!one) continue;
      one->name += "." + weights[i].name;
      const Type& type = weights[i].type;
      const RowRange all{0, type.shape.empty() ? 1 : type.shape[0]};
      moments.push_back(
          moment_of(std::move(*one), type, held.empty() ? all : held[i], update.rows));
    }
  return moments;
}

Attrs known_attrs(const std::string& op, const Attrs& attrs) {
  Attrs known;
  for (const auto& [name, value] : attrs.all())
    if (op_table().find(op)->attr(name)) known.set(name, value);
  return known;
}

ops::UpdateLists lists_of(const std::vector<UpdateWeight>& weights, const Update& update,
                          const Rule& rule, const UpdateOptions& options,
                          const UpdateScalars& scalars) {
  ops::UpdateLists lists;
  lists.lr = scalars.lr;
  lists.step = scalars.step;
  lists.g_scale = scalars.g_scale;
  lists.rows = update.rows;
  for (const size_t i : update.weights) {
    if (!optimizer_named(options.optimizer).decay_all)
      lists.decay.push_back(weights[i].decay ? 1 : 0);
    if (op_table().find(rule.op)->attr("keys"))
      lists.keys.push_back(key_of(options.seed, weights[i].name));
    if (options.stochastic_rounding && weights[i].type.dtype == DType::bf16)
      lists.round_keys.push_back(key_of(options.seed, weights[i].name));
  }
  return lists;
}

void emit_averages(Builder& b, const std::vector<UpdateWeight>& weights,
                   const UpdateOptions& options, ValueId step, const Values& scales) {
  Program& program = b.program();
  std::unordered_map<std::string, ValueId> updated;
  for (const State& s : program.states) updated[s.name] = s.next == kNoValue ? s.value : s.next;
  const auto number = [&](double v) { return ops::constant(b, v, {DType::f64, {}}); };
  const ValueId first = ops::compare(b, ops::cast(b, step, DType::f64), number(1), "le");
  const ValueId fresh = ops::select(b, first, number(1), number(1 - options.ema_decay));
  b.set_scope(kAverageState);
  const auto average = [&](const std::string& name, const Type& type, ValueId scale) {
    State s;
    s.role = Role::moment;
    s.name = fmt::format("{}.{}", kAverageState, name);
    const size_t at = program.states.size();
    const ValueId old = program.add_state(std::move(s), type);
    const ValueId finite = ops::compare(b, ops::sub(b, scale, scale), number(0), "eq");
    const ValueId share = ops::cast(b, ops::select(b, finite, fresh, number(0)), type.dtype);
    const ValueId change = ops::sub(b, updated.at(name), old);
    program.states[at].next = ops::add(b, old, ops::mul(b, change, share));
  };
  for (size_t i = 0; i < weights.size(); ++i) average(weights[i].name, weights[i].type, scales[i]);
  if (weights.empty()) return;
  for (const auto& [name, shape] : options.statistics) {
    const Type type{DType::f32, shape};
    if (!updated.contains(name)) {  // moved by another program
      State s;
      s.name = name;
      updated[name] = program.add_state(std::move(s), type);
    }
    average(name, type, scales[0]);
  }
}

Values take_gradients(Program& program, const std::vector<UpdateWeight>& weights) {
  std::unordered_map<std::string_view, ValueId> outputs;
  for (const Named& o : program.outputs) outputs[o.name] = o.value;
  Values gradients;
  for (const UpdateWeight& w : weights) {
    const auto g = outputs.find(grad_name(w.name));
    HONE_BUG_IF(g == outputs.end(), "program {} has no gradient of '{}'", program.name, w.name);
    gradients.push_back(g->second);
  }
  std::erase_if(program.outputs, [](const Named& o) { return o.name.starts_with(grad_name("")); });
  return gradients;
}

ValueId if_finite(Builder& b, ValueId scale, ValueId what) {
  return ops::add(b, scale, ops::sub(b, what, what));
}

}  // namespace hone
