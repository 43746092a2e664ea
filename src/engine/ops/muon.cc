// muon(p..., g..., m..., lr, step, g_scale) -> p'..., m'...: Muon (Jordan et al. 2024,
// kellerjordan.github.io/posts/muon) as torch.optim.Muon runs it, but in f32 and not in bfloat16. For
// matrices p [R,C], with g * g_scale for g and d the decay of a tensor:
//   m' = momentum m + (1-momentum) g,  u = momentum m' + (1-momentum) g with nesterov, else m',
//   x = u / max(|u|, 1e-7), then ns_steps times:  G = x x^T,  x = 3.4445 x + (-4.7750 G + 2.0315 G G) x,
//   p' = p (1 - lr d) - lr f x,
//   f = 0.2 sqrt(max(R, C)) for adjust_lr match_rms_adamw (Liu et al., arXiv 2502.16982), sqrt(max(1, R / C))
//   for original, 1 for none.
// If R > C, G is x^T x and the product is x (..), which is the same with fewer operations. Operands as
// update_parts.h says; m of p's type.
#include <cmath>

#include "engine/ops/update_parts.h"

namespace hone {
namespace {

constexpr double kOfX = 3.4445, kOfGram = -4.7750, kOfSquare = 2.0315, kLeastNorm = 1e-7;

Result<Types> infer_muon(const NodeView& n) {
  Types t = HONE_TRY(infer_update(n, 1));
  if (n.integer("ns_steps") < 1) return bad_operands(n, "ns_steps must be 1 or more");
  for (int64_t i = 0; i < n.integer("count"); ++i)
    HONE_TRY(expect_rank(n, static_cast<size_t>(i), 2));
  return t;
}

// The matrix with singular values near 1 and the same singular vectors.
ValueId orthogonal(Builder& b, UpdateParts& u, ValueId x, int64_t steps) {
  const Shape shape = b.type(x).shape;
  const bool tall = shape[0] > shape[1];
  const auto number = [&](double value) { return ops::constant(b, value, {DType::f64, {}}); };
  const ValueId norm = ops::sqrt(b, ops::sum_squares(b, x));
  x = u.times(x, ops::div(b, number(1), ops::maximum(b, norm, number(kLeastNorm))));
  for (int64_t step = 0; step < steps; ++step) {
    const ValueId gram = ops::matmul(b, x, x, tall, !tall);
    const ValueId both = u.mix(gram, kOfGram, ops::matmul(b, gram, gram), kOfSquare);
    const ValueId product = tall ? ops::matmul(b, x, both) : ops::matmul(b, both, x);
    x = ops::add(b, u.scaled(x, kOfX), product);
  }
  return x;
}

double rate_factor(const NodeView& n, const Shape& shape) {
  const auto rows = static_cast<double>(shape[0]), columns = static_cast<double>(shape[1]);
  const std::string& how = n.text("adjust_lr");
  if (how == "match_rms_adamw") return 0.2 * std::sqrt(std::max(rows, columns));
  return how == "original" ? std::sqrt(std::max(1.0, rows / std::max(1.0, columns))) : 1;
}

Values decompose_muon(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const double momentum = u.attr("momentum");
  Values p, m;
  for (size_t i = 0; i < u.count(); ++i) {
    const ValueId g = u.gradient(i);
    m.push_back(u.mix(u.state(0, i), momentum, g, 1 - momentum));
    const ValueId moved = n.flag("nesterov") ? u.mix(m[i], momentum, g, 1 - momentum) : m[i];
    const ValueId change = orthogonal(b, u, moved, n.integer("ns_steps"));
    const ValueId rate = u.scaled(u.lr(), rate_factor(n, b.type(g).shape));
    p.push_back(ops::sub(b, u.shrunk(i, u.p(i)), u.times(change, rate)));
  }
  return u.results({p, m});
}

Cost cost_muon(const NodeView& n) {
  Cost c = update_cost(n, 10);
  for (int64_t i = 0; i < n.integer("count"); ++i) {
    const Shape& shape = n.in(static_cast<size_t>(i)).shape;
    const auto less = static_cast<double>(std::min(shape[0], shape[1])),
               more = static_cast<double>(std::max(shape[0], shape[1]));
    c.flops += static_cast<double>(n.integer("ns_steps")) * 2 * less * less * (2 * more + less);
  }
  return c;
}

}  // namespace

Op define_muon() {
  return update_op("muon",
                   {required("momentum", 0.0),
                    {"nesterov", true},
                    {"ns_steps", 5},
                    {"adjust_lr", "match_rms_adamw", {"match_rms_adamw", "original", "none"}}},
                   infer_muon, decompose_muon, cost_muon);
}

}  // namespace hone
