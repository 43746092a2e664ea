#include "engine/backends/xla/stablehlo.h"

#include <algorithm>
#include <set>

#include "engine/backends/xla/replicas.h"
#include "engine/backends/xla/write_ops.h"

namespace hone::xla {

namespace {

// A node whose rows ranks take in their own way.
Refs write_of_ranks(Writer& w, const NodeView& n, const Refs& in, size_t i, const Replicas& ranks) {
  const std::string& name = n.node.op->name;
  if (const auto own = ranks.begins.find(i); own != ranks.begins.end())
    return {w.slice_of_replica(in[0], n.integer("axis"), own->second,
                               n.integer("end") - n.integer("begin"))};
  const auto rows = n.node.in.empty() ? ranks.rows.end() : ranks.rows.find(n.node.in[0]);
  const auto axes = name == "reduce_sum" ? n.integers("axes") : std::vector<int64_t>();
  if (rows == ranks.rows.end() || std::find(axes.begin(), axes.end(), 0) == axes.end())
    return writer_of(*n.node.op)(w, n, in);
  return writer_of(*n.node.op)(w, n, {w.first_rows_of_replica(in[0], rows->second)});
}

// Keeps values that are computed again (passes/recompute.h) and weights that are gathered again
// (passes/shard.h) apart from those of the forward pass, with which the compiler would merge them, and
// after the gradients that come before them.
class Remade {
 public:
  explicit Remade(const Program& program) : p(program), differs_(p.values.size(), false) {}

  // The operands of the node. If it is computed again and all of them are those of the forward pass,
  // one is replaced.
  Refs operands(Writer& w, const Node& n, const Refs& values) {
    Refs in;
    for (const ValueId v : n.in)
      in.push_back(v == kNoValue ? Ref{} : values[static_cast<size_t>(v)]);
    const bool again = n.clone && n.phase == Phase::backward;
    bool differs = std::any_of(n.in.begin(), n.in.end(), [&](ValueId v) {
      return v != kNoValue && differs_[static_cast<size_t>(v)];
    });
    if (again && !differs)
      if (const size_t at = kept_operand(n); at < n.in.size()) {
        Refs apart{in[at]};
        if (!gradient_.name.empty()) apart.push_back(gradient_);
        in[at] = w.barrier(apart)[0];
        differs = true;
      }
    if (again && differs)
      for (const ValueId v : n.out) differs_[static_cast<size_t>(v)] = true;
    return in;
  }
  // The part of a weight to gather now. In the backward pass it comes after the gradient that was there when the last
  // weight was gathered, so that one gather overlaps with computation.
  Ref part(Writer& w, Phase phase, const Ref& x) {
    if (phase != Phase::backward || gradient_.name.empty()) return x;
    if (before_gather_.name.empty()) before_gather_ = one_element(w, gradient_);
    const Ref after = std::exchange(before_gather_, one_element(w, gradient_));
    return w.barrier({x, after})[0];
  }
  // The node has this result.
  void made(const Node& n, const Ref& result) {
    const bool empty = std::find(result.shape.begin(), result.shape.end(), 0) != result.shape.end();
    if (n.phase == Phase::backward && !n.clone && n.op->traffic == nullptr && !empty)
      gradient_ = result;
  }

 private:
  // f32[], of any gradient, so that layers are equal.
  static Ref one_element(Writer& w, Ref x) {
    for (int64_t d = 0; d < std::ssize(x.shape); ++d) x = w.slice(x, d, 0, 1);
    return w.convert(w.reshape(x, {}), "f32");
  }
  // The first operand that is not computed again, an activation rather than a state; else their
  // number.
  size_t kept_operand(const Node& n) const {
    size_t found = n.in.size();
    for (size_t i = n.in.size(); i-- > 0;) {
      if (n.in[i] == kNoValue) continue;
      const int32_t at = p.values[static_cast<size_t>(n.in[i])].node;
      if (at >= 0 ? !p.nodes[static_cast<size_t>(at)].clone : found == n.in.size()) found = i;
    }
    return found;
  }

  const Program& p;
  std::vector<bool> differs_;  // by value: from that of the forward pass that it stands for
  Ref gradient_;               // the last result of the backward pass
  Ref before_gather_;          // an element of it when the last weight was gathered
};

// The nodes whose tensors are written one by one: weights are gathered where they are read first, and gradients are
// summed where they are made. Buckets that reach over layers would make layers differ (roll.h).
class OneByOne {
 public:
  OneByOne(Writer& writer, const Program& program, Remade& remade, Refs& values)
      : w(writer), p(program), remade_(remade), values_(values) {
    for (const Node& n : p.nodes) {
      const std::string& op = n.op->name;
      const bool sums = op == "all_reduce" || op == "reduce_scatter";
      if (!sums && op != "all_gather" && op != "wait") continue;
      for (size_t i = 0; i < n.out.size(); ++i) {
        made_[n.out[i]] = {&n, i};
        if (sums) sums_[n.in[i]].emplace_back(&n, i);
      }
      nodes_.insert(&n);
    }
  }

  bool writes(const Node& n) const { return nodes_.contains(&n); }
  // The value is about to be read by a node of this phase. The backward pass gathers a layer's weight again in each
  // layer, also in the last one, where the program keeps that of the forward pass.
  void read(ValueId v, Phase phase) {
    const auto found = made_.find(v);
    if (found == made_.end()) return;
    const auto [n, i] = found->second;
    const bool gathers = n->op->name == "all_gather";
    const bool again = phase == Phase::backward && n->phase != phase &&
                       (gathers ? of(n->in[i]).row_of_stack : n->op->name == "wait") &&
                       !again_.contains(v);
    if (!of(v).name.empty() && !again) return;
    read(n->in[i], phase);
    if (again) again_.insert(v);
    if (n->op->name == "wait")
      define(v, of(n->in[i]));
    else if (gathers)
      define(v,
             write_tensor(w, {p, *n}, i, remade_.part(w, again ? phase : n->phase, of(n->in[i]))));
  }
  // The value has been written.
  void define(ValueId v, const Ref& r) {
    of(v) = r;
    const auto found = sums_.find(v);
    if (found == sums_.end()) return;
    for (const auto& [n, i] : found->second)
      if (of(n->out[i]).name.empty()) define(n->out[i], write_tensor(w, {p, *n}, i, r));
  }

 private:
  using Tensor = std::pair<const Node*, size_t>;  // and its number there
  Ref& of(ValueId v) { return values_[static_cast<size_t>(v)]; }
  Writer& w;
  const Program& p;
  Remade& remade_;
  Refs& values_;
  std::map<ValueId, Tensor> made_;               // by result
  std::map<ValueId, std::vector<Tensor>> sums_;  // by operand
  std::set<const Node*> nodes_;
  std::set<ValueId> again_;  // gathered again
};

// The names of the dropouts of the program, each once.
std::vector<std::string> dropout_places(const Program& p) {
  std::vector<std::string> places;
  for (const Node& n : p.nodes) {
    const std::string& op = n.op->name;
    const bool attends = op == "attention" || op == "attention_grad";
    const NodeView view{p, n};
    if (attends ? view.real("dropout") <= 0
                : op != "dropout_mask" && op != "attention_dropout_mask")
      continue;
    if (std::find(places.begin(), places.end(), view.text("key")) == places.end())
      places.push_back(view.text("key"));
  }
  return places;
}

// The arguments of main.
struct Arguments {
  std::vector<std::string> texts;
  Refs inputs;                     // and the states that are arrays of their own
  std::vector<StateStack> stacks;  // without their new rows
};

// Names the program's inputs and states. Results that take the memory of an argument follow the outputs: first the
// states that are arrays of their own, then the stacks.
Arguments name_arguments(const Program& p, const StateArrays& arrays, ModuleText& m, Refs& values) {
  Arguments made;
  const auto argument = [&](const Type& type, const std::string& more) {
    const Ref r{fmt::format("%arg{}", made.texts.size()), element_of(type.dtype), type.shape};
    made.texts.push_back(fmt::format("{}: {}{}", r.name, r.type(), more));
    return r;
  };
  for (const Named& i : p.inputs) {
    made.inputs.push_back(argument(p.type(i.value), ""));
    values[static_cast<size_t>(i.value)] = made.inputs.back();
  }
  const auto has_next = [&](const StateArray& a) {
    return std::any_of(a.states.begin(), a.states.end(), [&](size_t s) {
      return s != StateArray::kNone && p.states[s].next != kNoValue;
    });
  };
  for (const bool stacked : {false, true})
    for (size_t a = 0; a < arrays.size(); ++a)
      if (arrays[a].stacked == stacked && has_next(arrays[a])) m.written.push_back(a);
  for (size_t a = 0; a < arrays.size(); ++a) {
    const std::vector<size_t>& states = arrays[a].states;
    const size_t first = *std::min_element(states.begin(), states.end());
    Type type = p.type(p.states[first].value);
    m.states.push_back(type);
    std::string donated;
    if (const auto at = std::find(m.written.begin(), m.written.end(), a); at != m.written.end())
      donated = fmt::format(" {{tf.aliasing_output = {} : i32}}",
                            std::ssize(m.outputs) + (at - m.written.begin()));
    if (!arrays[a].stacked) {
      made.inputs.push_back(argument(type, donated));
      values[static_cast<size_t>(p.states[first].value)] = made.inputs.back();
      continue;
    }
    type = stack_type(type, std::ssize(states));
    StateStack stack{argument(type, donated), Refs(states.size()), Refs(states.size())};
    for (size_t k = 0; k < states.size(); ++k) {
      if (states[k] == StateArray::kNone) continue;
      stack.rows[k] = {fmt::format("{}_{}", stack.array.name, k), stack.array.element,
                       m.states.back().shape, true};
      values[static_cast<size_t>(p.states[states[k]].value)] = stack.rows[k];
    }
    made.stacks.push_back(std::move(stack));
  }
  return made;
}

ModuleText write_with(const Program& p, const Replicas& ranks, const ModuleOptions& options) {
  const StateArrays arrays =
      options.arrays.empty() ? single_states(p.states.size()) : options.arrays;
  ModuleText m;
  for (const Named& o : p.outputs) {
    if (std::find(m.outputs.begin(), m.outputs.end(), o.value) != m.outputs.end()) continue;
    m.outputs.push_back(o.value);
    m.results.push_back(p.type(o.value));
  }

  Writer w(options.integers, dropout_places(p));
  Refs values(p.values.size());
  Arguments arguments = name_arguments(p, arrays, m, values);

  Remade remade(p);
  OneByOne one_by_one(w, p, remade, values);
  for (ValueId v = 0; v < std::ssize(values); ++v)
    if (const Ref given = values[static_cast<size_t>(v)]; !given.name.empty())
      one_by_one.define(v, given);
  for (size_t i = 0; i < p.nodes.size(); ++i) {
    const Node& n = p.nodes[i];
    if (one_by_one.writes(n)) continue;
    for (const ValueId v : n.in) one_by_one.read(v, n.phase);
    const NodeView view{p, n};
    const Refs in = remade.operands(w, n, values);
    HONE_BUG_IF(writer_of(*n.op) == nullptr, "{} is not lowered", n.op->name);
    const Refs out = write_of_ranks(w, view, in, i, ranks);
    for (size_t k = 0; k < n.out.size(); ++k) {
      const Ref& r = out[k];
      HONE_BUG_IF(r.shape != view.out(k).shape || r.element != element_of(view.out(k).dtype),
                  "{} writes {}, the node has {}", n.op->name, r.type(), view.out(k).text());
      one_by_one.define(n.out[k], r);
    }
    remade.made(n, out[0]);
  }
  for (const ValueId v : m.outputs) one_by_one.read(v, Phase::forward);
  for (const State& s : p.states) one_by_one.read(s.next, Phase::forward);

  Refs results;
  for (const ValueId v : m.outputs) results.push_back(values[static_cast<size_t>(v)]);
  auto stack = arguments.stacks.begin();
  for (const StateArray& a : arrays) {
    for (size_t k = 0; k < a.states.size(); ++k) {
      const ValueId next = a.states[k] == StateArray::kNone ? kNoValue : p.states[a.states[k]].next;
      if (next == kNoValue) continue;
      const Ref& value = values[static_cast<size_t>(next)];
      a.stacked ? void(stack->next[k] = value) : results.push_back(value);
    }
    if (a.stacked) ++stack;
  }
  m.text = w.module(arguments.texts,
                    w.roll(arguments.inputs, results, arguments.stacks, options.fewest_layers));
  return m;
}

}  // namespace

ModuleText write_module(const Program& p, const ModuleOptions& options) {
  return write_with(p, {}, options);
}

bool has_collectives(const Program& p) {
  return std::any_of(p.nodes.begin(), p.nodes.end(),
                     [](const Node& n) { return n.op->traffic != nullptr; });
}

Result<ModuleText> write_replicas(std::span<const Program* const> ranks,
                                  const ModuleOptions& options) {
  const Replicas replicas = HONE_TRY(compare_replicas(ranks));
  return write_with(*replicas.widest, replicas, options);
}

}  // namespace hone::xla
