#include "learn/train/update.h"

#include "engine/ops/ops.h"
#include "engine/passes/differentiate.h"

namespace hone {

std::string first_moment_name(const std::string& weight) { return "adam.m." + weight; }
std::string second_moment_name(const std::string& weight) { return "adam.v." + weight; }

Program build_update(const std::vector<UpdateWeight>& weights, const UpdateOptions& options) {
  Program program(op_table(), "update");
  Builder b(program);
  ValueId lr = program.add_input("lr", {DType::f64, {}});
  ValueId step = program.add_input("step", {DType::i64, {}});
  Values p, g, m, v;
  ops::AdamwOptions adamw{options.beta1, options.beta2, options.epsilon, options.weight_decay, {}};
  auto state = [&](const std::string& name, Role role, const Type& type) {
    State s;
    s.name = name;
    s.role = role;
    s.trainable = role == Role::param;
    s.storage = type.dtype;
    return program.add_state(std::move(s), type);
  };
  for (const UpdateWeight& w : weights) {
    p.push_back(state(w.name, Role::param, w.type));
    g.push_back(state(grad_name(w.name), Role::grad, w.type));
    m.push_back(state(first_moment_name(w.name), Role::moment, w.type));
    v.push_back(state(second_moment_name(w.name), Role::moment, w.type));
    adamw.decay.push_back(w.decay ? 1 : 0);
  }
  const Type scalar{DType::f64, {}};
  b.set_scope("clip");
  ValueId norm = ops::sqrt(b, ops::sum_squares(b, g));
  ValueId scale = ops::constant(b, 1.0, scalar);
  if (options.max_grad_norm > 0) {
    // torch.nn.utils.clip_grad_norm_: min(1, max_norm / (norm + 1e-6))
    ValueId ratio = ops::div(b, ops::constant(b, options.max_grad_norm, scalar),
                             ops::add(b, norm, ops::constant(b, 1e-6, scalar)));
    scale = ops::minimum(b, scale, ratio);
  }
  b.set_scope("adamw");
  Values next = ops::adamw(b, p, g, m, v, lr, step, scale, adamw);
  const size_t n = weights.size();
  for (size_t i = 0; i < n; ++i) {
    program.state_named(weights[i].name)->next = next[i];
    program.state_named(first_moment_name(weights[i].name))->next = next[n + i];
    program.state_named(second_moment_name(weights[i].name))->next = next[2 * n + i];
  }
  program.outputs.push_back({"grad_norm", norm});
  return program;
}

}  // namespace hone
