#include "learn/train/update.h"

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

Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options) {
  Program program(op_table(), "update");
  Builder b(program);
  const Optimizer& optimizer = optimizer_named(options.optimizer);
  ops::UpdateLists lists;
  lists.lr = program.add_input("lr", {DType::f64, {}});
  lists.step = program.add_input("step", {DType::i64, {}});
  auto state = [&](const std::string& name, Role role, const Type& type) {
    State s;
    s.name = name;
    s.role = role;
    s.trainable = role == Role::param;
    s.storage = type.dtype;
    return program.add_state(std::move(s), type);
  };
  for (const UpdateWeight& w : weights) {
    lists.p.push_back(state(w.name, Role::param, w.type));
    lists.g.push_back(state(grad_name(w.name), Role::grad, w.type));
    if (!optimizer.decay_all) lists.decay.push_back(w.decay ? 1 : 0);
  }
  const std::vector<OptimizerState> kept = update_states(weights, options);
  for (const OptimizerState& s : kept) lists.states.push_back(state(s.name, Role::moment, s.type));

  const Type scalar{DType::f64, {}};
  b.set_scope("clip");
  ValueId norm = ops::sqrt(b, ops::sum_squares(b, lists.g));
  lists.g_scale = ops::constant(b, 1.0, scalar);
  if (options.max_grad_norm > 0) {
    // torch.nn.utils.clip_grad_norm_: min(1, max_norm / (norm + 1e-6))
    ValueId ratio = ops::div(b, ops::constant(b, options.max_grad_norm, scalar),
                             ops::add(b, norm, ops::constant(b, 1e-6, scalar)));
    lists.g_scale = ops::minimum(b, lists.g_scale, ratio);
  }
  // NaN unless the norm is finite, so that such gradients change nothing
  lists.g_scale = ops::add(b, lists.g_scale, ops::sub(b, norm, norm));
  b.set_scope(optimizer.op);
  const Values next = ops::update(b, optimizer.op, lists, options.attrs);
  for (size_t i = 0; i < weights.size(); ++i) program.state_named(weights[i].name)->next = next[i];
  for (size_t i = 0; i < kept.size(); ++i)
    program.state_named(kept[i].name)->next = next[weights.size() + i];
  program.outputs.push_back({"grad_norm", norm});
  return program;
}

}  // namespace hone
