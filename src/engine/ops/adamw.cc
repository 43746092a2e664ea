// adamw(p..., g..., m..., v..., lr, step, g_scale) -> p'..., m'..., v'...: PyTorch's AdamW
// (Loshchilov and Hutter, arXiv 1711.05101) over lists of `count` tensors, with g * g_scale for g:
//   m' = beta1 m + (1-beta1) g,  v' = beta2 v + (1-beta2) g^2,
//   p' = p (1 - lr decay) - lr/(1-beta1^step) m' / (sqrt(v')/sqrt(1-beta2^step) + eps),
// decay = weight_decay where attribute decay[i] is 1 (or the list is empty), else 0.
// lr f64[], step i64[] (1 for the first), g_scale f64[]; p_i, m_i, v_i of one type, g_i of its
// shape.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer(const NodeView& n) {
  int64_t count = n.attrs().integer("count");
  if (count < 1 || count > 1 << 20)
    return bad_operands(n, fmt::format("count={} is out of range", count));
  auto size = static_cast<size_t>(count);
  HONE_TRY(expect_inputs(n, 4 * size + 3, 4 * size + 3));
  HONE_TRY(expect_type(n, 4 * size, {DType::f64, {}}));
  HONE_TRY(expect_type(n, 4 * size + 1, {DType::i64, {}}));
  HONE_TRY(expect_type(n, 4 * size + 2, {DType::f64, {}}));
  size_t decays = n.attrs().integers("decay").size();
  if (decays != 0 && decays != size)
    return bad_operands(n, fmt::format("decay has {} entries for {} tensors", decays, count));
  Types t;
  for (size_t i = 0; i < size; ++i) {
    HONE_TRY(expect_float(n, i));
    HONE_TRY(expect_same(n, i, 2 * size + i));
    HONE_TRY(expect_same(n, i, 3 * size + i));
    HONE_TRY(expect_float(n, size + i));
    if (n.in(size + i).shape != n.in(i).shape)
      return bad_operands(n, fmt::format("gradient {} has another shape than its tensor", i));
    t.push_back(n.in(i));
  }
  Types one = t;
  for (int list = 0; list < 2; ++list) t.insert(t.end(), one.begin(), one.end());
  return t;
}

Values decompose(Builder& b, const NodeView& n) {
  auto count = static_cast<size_t>(n.attrs().integer("count"));
  const double beta1 = n.attrs().real("beta1"), beta2 = n.attrs().real("beta2"),
               eps = n.attrs().real("eps");
  const double weight_decay = n.attrs().real("weight_decay");
  std::vector<int64_t> decay = n.attrs().integers("decay");
  ValueId lr = n.input(4 * count), step = ops::cast(b, n.input(4 * count + 1), DType::f64);
  ValueId one = ops::constant(b, 1, {DType::f64, {}});
  auto correction = [&](double beta) {  // 1 - beta^step
    if (beta == 0) return one;
    return ops::sub(b, one, ops::exp(b, ops::mul(b, step, number(b, std::log(beta), one))));
  };
  ValueId step_size = ops::div(b, lr, correction(beta1)), root = ops::sqrt(b, correction(beta2));
  ValueId shrink = ops::sub(b, one, ops::mul(b, lr, number(b, weight_decay, one)));
  Values p, m, v;
  for (size_t i = 0; i < count; ++i) {
    DType t = b.type(n.input(i)).dtype;
    auto mix = [&](ValueId old, ValueId fresh, double beta) {
      return ops::add(b, ops::mul(b, old, number(b, beta, old)),
                      ops::mul(b, fresh, number(b, 1 - beta, fresh)));
    };
    ValueId g =
        ops::mul(b, ops::cast(b, n.input(count + i), t), ops::cast(b, n.input(4 * count + 2), t));
    m.push_back(mix(n.input(2 * count + i), g, beta1));
    v.push_back(mix(n.input(3 * count + i), ops::mul(b, g, g), beta2));
    ValueId below =
        ops::add(b, ops::div(b, ops::sqrt(b, v[i]), ops::cast(b, root, t)), number(b, eps, v[i]));
    ValueId change = ops::mul(b, ops::div(b, m[i], below), ops::cast(b, step_size, t));
    bool decays = weight_decay != 0 && (decay.empty() || decay[i] != 0);
    ValueId old = decays ? ops::mul(b, n.input(i), ops::cast(b, shrink, t)) : n.input(i);
    p.push_back(ops::sub(b, old, change));
  }
  p.insert(p.end(), m.begin(), m.end());
  p.insert(p.end(), v.begin(), v.end());
  return p;
}

Cost cost(const NodeView& n) {
  Cost c = elementwise(n, 0);
  auto count = static_cast<size_t>(n.attrs().integer("count"));
  for (size_t i = 0; i < count; ++i) c.flops += 16.0 * static_cast<double>(n.in(i).count());
  return c;
}

// Outputs p', m', v' lie over the inputs p, m, v, between which the gradients stand.
int inplace_for(const NodeView& n, size_t k) {
  auto count = static_cast<size_t>(n.attrs().integer("count"));
  return static_cast<int>(k < count ? k : k + count);
}

}  // namespace

Op define_adamw() {
  Op op{"adamw", infer, decompose, nullptr, cost};
  op.inplace_for = inplace_for;
  return op;
}

Values ops::adamw(Builder& b, const Values& p, const Values& g, const Values& m, const Values& v,
                  ValueId lr, ValueId step, ValueId g_scale, const AdamwOptions& o) {
  Values in;
  for (const Values* list : {&p, &g, &m, &v}) in.insert(in.end(), list->begin(), list->end());
  in.insert(in.end(), {lr, step, g_scale});
  return b.emit("adamw", in,
                {{"count", static_cast<int64_t>(p.size())},
                 {"beta1", o.beta1},
                 {"beta2", o.beta2},
                 {"eps", o.eps},
                 {"weight_decay", o.weight_decay},
                 {"decay", o.decay}});
}

}  // namespace hone
