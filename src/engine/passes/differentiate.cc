#include "engine/passes/differentiate.h"

#include <algorithm>
#include <optional>

#include "engine/ops/ops.h"

namespace hone {

std::string grad_name(const std::string& parameter) { return "grad." + parameter; }

Type gradient_type(const Type& parameter, DType kept) {
  const bool narrows =
      parameter.dtype == DType::bf16 || (parameter.dtype == DType::f32 && parameter.rank() >= 2);
  return {narrows ? kept : parameter.dtype, parameter.shape};
}

namespace {

// Marks the values whose gradient is wanted: those computed from a trainable parameter.
std::vector<bool> depends_on_trainable(const Program& p) {
  std::vector<bool> wanted(p.values.size(), false);
  for (const State& s : p.states)
    if (s.trainable) wanted[static_cast<size_t>(s.value)] = true;
  for (const Node& n : p.nodes) {
    bool any = false;
    for (ValueId v : n.in) any = any || (v != kNoValue && wanted[static_cast<size_t>(v)]);
    if (any)
      for (ValueId v : n.out) wanted[static_cast<size_t>(v)] = is_float(p.type(v).dtype);
  }
  return wanted;
}

// A gradient that the loss made beside itself is rounded there, before the backward pass begins.
void narrow_in_forward(Program& p, size_t forward_nodes) {
  p.renumber_producers();
  size_t end = forward_nodes;
  for (size_t i = forward_nodes; i < p.nodes.size(); ++i) {
    const Node& n = p.nodes[i];
    if (n.op->name != "cast") continue;
    const int32_t from = p.values[static_cast<size_t>(n.in[0])].node;
    if (from < 0 || from >= static_cast<int32_t>(forward_nodes)) continue;
    p.nodes[i].phase = Phase::forward;
    const auto at = [&](size_t k) { return p.nodes.begin() + static_cast<std::ptrdiff_t>(k); };
    std::rotate(at(end++), at(i), at(i + 1));
  }
  p.renumber_producers();
}

}  // namespace

Result<bool> differentiate(Program& p, Gradients as, DType kept,
                           const std::set<std::string>& in_bf16) {
  ValueId loss = p.output_named("loss");
  HONE_BUG_IF(loss == kNoValue || p.type(loss).count() != 1,
              "differentiate needs a scalar output 'loss'");
  const std::vector<bool> wanted = depends_on_trainable(p);
  const size_t forward_nodes = p.nodes.size();

  Builder b(p);
  std::vector<ValueId> grad(p.values.size(), kNoValue);
  const auto kept_type = [&](const State& s) {
    Type type = p.type(s.value);
    if (in_bf16.contains(s.name)) type.dtype = DType::bf16;
    return gradient_type(type, kept);
  };
  std::vector<size_t> parameters;  // indices of states
  for (size_t i = 0; i < p.states.size(); ++i)
    if (p.states[i].trainable) parameters.push_back(i);
  std::vector<std::optional<DType>> kept_as(p.values.size());  // by parameter
  for (size_t i : parameters) {
    kept_as[static_cast<size_t>(p.states[i].value)] = kept_type(p.states[i]).dtype;
  }
  // Gradient states come first, so that each contribution can be added onto what there is.
  const size_t first_state = p.states.size();
  for (size_t i : parameters) {
    if (as == Gradients::values) break;
    const Type type = kept_type(p.states[i]);
    State s;
    s.name = grad_name(p.states[i].name);
    s.role = Role::grad;
    const ValueId old_version = p.add_state(std::move(s), type);
    if (as == Gradients::sums) grad[static_cast<size_t>(p.states[i].value)] = old_version;
  }
  b.set_phase(Phase::backward);
  b.set_scope("loss");
  grad[static_cast<size_t>(loss)] = ops::constant(b, 1.0, p.type(loss));

  for (size_t i = forward_nodes; i-- > 0;) {
    const Node node = p.nodes[i];  // a copy: emit() grows the list
    bool any_in = false, any_out = false;
    for (ValueId v : node.in) any_in = any_in || (v != kNoValue && wanted[static_cast<size_t>(v)]);
    Values douts;
    for (ValueId v : node.out) {
      douts.push_back(grad[static_cast<size_t>(v)]);
      any_out = any_out || douts.back() != kNoValue;
    }
    if (!any_in || !any_out) continue;
    HONE_BUG_IF(!node.op->grad, "op {} in scope '{}' has no gradient", node.op->name, node.scope);
    b.set_scope(node.scope);
    Values dins = node.op->grad(b, {p, node}, douts);
    HONE_BUG_IF(dins.size() < node.in.size(), "the gradient of {} names {} of {} inputs",
                node.op->name, dins.size(), node.in.size());
    for (size_t k = 0; k < node.in.size(); ++k) {
      ValueId v = node.in[k];
      if (v == kNoValue || dins[k] == kNoValue || !wanted[static_cast<size_t>(v)]) continue;
      HONE_BUG_IF(p.type(dins[k]) != p.type(v), "the gradient of {}'s input {} is {}, the input {}",
                  node.op->name, k, p.type(dins[k]).text(), p.type(v).text());
      ValueId& g = grad[static_cast<size_t>(v)];
      const DType wide = p.type(v).dtype;
      if (g == kNoValue)
        g = dins[k];
      else
        g = ops::add(b, ops::cast(b, g, wide), dins[k]);
      if (const auto& type = kept_as[static_cast<size_t>(v)]) g = ops::cast(b, g, *type);
    }
  }

  if (kept != DType::f32) narrow_in_forward(p, forward_nodes);
  for (size_t k = 0; k < parameters.size(); ++k) {
    const State& parameter = p.states[parameters[k]];
    ValueId g = grad[static_cast<size_t>(parameter.value)];
    b.set_scope(parameter.name);
    if (g == kNoValue) g = ops::constant(b, 0.0, kept_type(parameter));
    if (as == Gradients::values) {
      p.outputs.push_back({grad_name(parameter.name), g});
      continue;
    }
    State& s = p.states[first_state + k];
    if (g != s.value) s.next = g;  // else nothing was added
  }
  return true;
}

}  // namespace hone
