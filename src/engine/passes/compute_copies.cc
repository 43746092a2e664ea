#include "engine/passes/compute_copies.h"

#include <utility>

#include "engine/graph/op.h"

namespace hone {
namespace {

bool rounds_to(const Node& n, DType as) {
  return n.op->product && n.attrs.flag(std::string(name_of(as)));
}

}  // namespace

std::set<std::string> multiplied_weights(const Program& p) {
  std::set<ValueId> read;
  for (const Node& n : p.nodes)
    if (n.op->product && n.in.size() > Op::kWeightOperand) read.insert(n.in[Op::kWeightOperand]);
  std::set<std::string> names;
  for (const State& s : p.states)
    if (s.role == Role::param && p.type(s.value).dtype == DType::f32 && read.contains(s.value))
      names.insert(s.name);
  return names;
}

Result<bool> compute_copies(Program& p, const std::set<std::string>& weights, DType as) {
  p.renumber_producers();
  std::vector<std::vector<Node>> after(p.nodes.size());  // each node: the copies of what it wrote
  bool any = false;
  const size_t states = p.states.size();
  for (size_t i = 0; i < states; ++i) {
    const State weight = p.states[i];
    if (weight.role != Role::param || !weights.contains(weight.name)) continue;
    State copy;
    copy.name = copy_name(weight.name);
    copy.role = Role::copy;
    const ValueId v = p.add_state(copy, {as, Shape(p.type(weight.value).shape)});
    for (Node& n : p.nodes)
      if (rounds_to(n, as) && n.in[Op::kWeightOperand] == weight.value)
        n.in[Op::kWeightOperand] = v;
    any = true;
    if (weight.next == kNoValue) continue;
    Node cast;
    cast.op = p.ops().find("cast");
    cast.attrs.set("dtype", std::string(name_of(as)));
    cast.in = {weight.next};
    cast.out = {p.new_value(Type(p.type(v)))};
    p.state_named(copy.name)->next = cast.out[0];
    const auto writer = static_cast<size_t>(p.values[static_cast<size_t>(weight.next)].node);
    cast.phase = p.nodes[writer].phase;
    cast.scope = p.nodes[writer].scope;
    after[writer].push_back(std::move(cast));
  }
  if (!any) return false;
  std::vector<Node> before = std::exchange(p.nodes, {});
  for (size_t i = 0; i < before.size(); ++i) {
    p.nodes.push_back(std::move(before[i]));
    for (Node& cast : after[i]) p.nodes.push_back(std::move(cast));
  }
  p.renumber_producers();
  return any;
}

}  // namespace hone
