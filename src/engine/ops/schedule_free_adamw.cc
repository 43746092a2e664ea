// schedule_free_adamw(p..., g..., z..., v..., x..., most..., sum..., lr, step, g_scale) -> p'..., z'..., v'...,
// x'..., most'..., sum'...: AdamW without a schedule (Defazio et al., arXiv 2405.15682) as the package
// schedulefree runs it. p is the point y of the gradients, x the average that is evaluated and saved, which
// the package computes from y and z when asked; z is the point of plain steps. With g * g_scale for g, d
// the decay of a tensor, and z = x = p before the first step:
//   e = lr min(1, step / warmup_steps),  most' = max(most, e),  w = step^r most'^weight_lr_power,
//   sum' = sum + w,  c = w / sum' (0 if sum' is 0),
//   v' = beta2 v + (1-beta2) g^2,  u = g / (sqrt(v' / (1-beta2^step)) + eps) + d p,
//   p' = p + c (z - p) + e (beta1 (1 - c) - 1) u,  z' = z - e u,  x' = x + c (z' - x).
// z, v, x of p's type; most, sum f64[]. Other operands as update_parts.h says.
#include "engine/ops/update_parts.h"

namespace hone {
namespace {

const Type kOneNumber{DType::f64, {}};

Types schedule_free_states(const NodeView& n) {
  Types all;
  const auto count = static_cast<size_t>(n.integer("count"));
  for (int list = 0; list < 3; ++list)
    for (size_t i = 0; i < count; ++i) all.push_back(updated_part(n, i));
  all.insert(all.end(), 2 * count, kOneNumber);
  return all;
}

Result<Types> infer_schedule_free_adamw(const NodeView& n) {
  if (n.integer("warmup_steps") < 0) return bad_operands(n, "warmup_steps is a number of steps");
  return infer_update(n, schedule_free_states);
}

// x^power of a number that is not negative.
ValueId power_of(Builder& b, ValueId x, double power) {
  if (power == 0) return ops::constant(b, 1, kOneNumber);
  if (power == 1) return x;
  if (power == 2) return ops::mul(b, x, x);
  return ops::exp(b, ops::mul(b, ops::log(b, x), ops::constant(b, power, kOneNumber)));
}

Values decompose_schedule_free_adamw(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const auto number = [&](double v) { return ops::constant(b, v, kOneNumber); };
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  const ValueId correction = u.one_minus_power(beta2);
  const ValueId first = ops::compare(b, u.step(), number(1), "le");
  ValueId rate = u.lr();
  if (const int64_t warmup = n.integer("warmup_steps"); warmup > 0)
    rate = ops::mul(
        b, rate, ops::minimum(b, number(1), u.scaled(u.step(), 1 / static_cast<double>(warmup))));
  Values p, z, v, x, most, sum;
  for (size_t i = 0; i < u.count(); ++i) {
    const ValueId g = u.gradient(i), y = u.p(i);
    most.push_back(ops::maximum(b, u.state(3, i), rate));
    const ValueId weight = ops::mul(b, power_of(b, u.step(), u.attr("r")),
                                    power_of(b, most[i], u.attr("weight_lr_power")));
    sum.push_back(ops::add(b, u.state(4, i), weight));
    const ValueId share = ops::select(b, ops::compare(b, sum[i], number(0), "gt"),
                                      ops::div(b, weight, sum[i]), number(0));
    const Type type = b.type(y);
    const ValueId starts = ops::broadcast(b, first, type.shape, {});
    const ValueId old_z = ops::select(b, starts, y, u.state(0, i)),
                  old_x = ops::select(b, starts, y, u.state(2, i));
    v.push_back(u.mix(u.state(1, i), beta2, ops::mul(b, g, g), 1 - beta2));
    const ValueId mean = ops::div(b, v[i], ops::cast(b, correction, type.dtype));
    ValueId change = ops::div(b, g, u.plus(ops::sqrt(b, mean), u.attr("eps")));
    if (u.decay(i) != 0) change = ops::add(b, change, u.scaled(y, u.decay(i)));
    const ValueId step_size =
        ops::mul(b, rate, ops::sub(b, u.scaled(ops::sub(b, number(1), share), beta1), number(1)));
    z.push_back(ops::sub(b, old_z, u.times(change, rate)));
    x.push_back(ops::add(b, old_x, u.times(ops::sub(b, z[i], old_x), share)));
    p.push_back(ops::add(b, ops::add(b, y, u.times(ops::sub(b, old_z, y), share)),
                         u.times(change, step_size)));
  }
  return u.results({p, z, v, x, most, sum});
}

Cost cost_schedule_free_adamw(const NodeView& n) { return update_cost(n, 26); }

}  // namespace

Op define_schedule_free_adamw() {
  return update_op("schedule_free_adamw",
                   {required("beta1", 0.0),
                    required("beta2", 0.0),
                    required("eps", 0.0),
                    {"r", 0.0},
                    {"weight_lr_power", 2.0},
                    {"warmup_steps", 0}},
                   infer_schedule_free_adamw, decompose_schedule_free_adamw,
                   cost_schedule_free_adamw);
}

}  // namespace hone
