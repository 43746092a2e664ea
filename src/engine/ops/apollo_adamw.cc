// apollo_adamw(p..., g..., m..., v..., norm..., lr, step, g_scale) -> p'..., m'..., v'...,
// norm'...: APOLLO (Zhu et al., arXiv 2412.05270, algorithm 1) as the package apollo-torch runs it,
// for matrices p [R,C] whose moments are those of a random projection of the gradient. With g *
// g_scale for g, d the decay of a tensor and P normal numbers with the variance 1 / rank
// (random_normal.cc), other ones after each update_proj_gap steps and never kept:
//   low = g P^T with P [rank,C], or P^T g with P [R,rank]                (proj_type, below)
//   m' = beta1 m + (1-beta1) low,  v' = beta2 v + (1-beta2) low^2,  n = m' / (sqrt(v') + eps)
//   s = |n| / (|low| + 1e-8)   over each row of p where R >= C, over each column else (scale_type
//       channel), or over all (tensor)
//   u = s g / limit,  limit = max(|s g| / (norm + 1e-8), 1.01) / 1.01 (Chen et al., arXiv 2410.01623,
//       section 3.3); 1 where norm is 0, which it is at first;  norm' = |u|
//   p' = (p - lr sqrt(1-beta2^step) / (1-beta1^step) sqrt(scale) u) (1 - lr d).
// proj_type std: the longer axis of p stays: right where R >= C, else left; reverse_std the other
// way round; right, left: P is to the right or to the left. A scale of channels needs their axis.
// m, v [R,rank] or [rank,C] and norm [] of p's type; keys[i] names the numbers of tensor i; other
// operands as update_parts.h says.
#include <cmath>

#include "engine/ops/update_parts.h"

namespace hone {
namespace {

bool projects_right(const NodeView& n, const Shape& p) {
  const std::string& how = n.text("proj_type");
  if (how == "right" || how == "left") return how == "right";
  return (p[0] >= p[1]) == (how == "std");
}

Types apollo_states(const NodeView& n) {
  Types low, all;
  for (int64_t i = 0; i < n.integer("count"); ++i) {
    Type t = n.in(static_cast<size_t>(i));
    if (t.rank() == 2) t.shape[projects_right(n, t.shape) ? 1 : 0] = n.integer("rank");
    low.push_back(std::move(t));
  }
  for (int list = 0; list < 2; ++list) all.insert(all.end(), low.begin(), low.end());
  for (const Type& t : low) all.push_back({t.dtype, {}});
  return all;
}

Result<Types> infer_apollo_adamw(const NodeView& n) {
  Types t = HONE_TRY(infer_update(n, apollo_states));
  if (n.integer("rank") < 1 || n.integer("update_proj_gap") < 1)
    return bad_operands(n, "rank and update_proj_gap must be 1 or more");
  const auto count = static_cast<size_t>(n.integer("count"));
  if (n.integers("keys").size() != count) return bad_operands(n, "a key is needed for each tensor");
  for (size_t i = 0; i < count; ++i) {
    HONE_TRY(expect_rank(n, i, 2));
    const Shape& p = n.in(i).shape;
    if (n.text("scale_type") == "channel" && projects_right(n, p) != (p[0] >= p[1]))
      return bad_operands(n, "the projection leaves no channels to scale");
  }
  return t;
}

Values decompose_apollo_adamw(Builder& b, const NodeView& n) {
  UpdateParts u(b, n);
  const Type scalar{DType::f64, {}};
  const double beta1 = u.attr("beta1"), beta2 = u.attr("beta2");
  const int64_t rank = n.integer("rank");
  const bool by_channel = n.text("scale_type") == "channel";
  const std::vector<int64_t> keys = n.integers("keys");
  const auto constant = [&](double x) { return ops::constant(b, x, scalar); };
  const ValueId rate =
      u.scaled(ops::div(b, ops::mul(b, u.lr(), ops::sqrt(b, u.one_minus_power(beta2))),
                        u.one_minus_power(beta1)),
               std::sqrt(u.attr("scale")));
  const ValueId one = constant(1);
  Values p, m, v, norms;
  for (size_t i = 0; i < u.count(); ++i) {
    const Type type = b.type(u.p(i));
    const bool right = projects_right(n, type.shape);
    const int64_t axis = type.shape[0] >= type.shape[1] ? 1 : 0;  // of which a channel is made
    const ValueId g = u.gradient(i);
    const Type projection{type.dtype,
                          right ? Shape{rank, type.shape[1]} : Shape{type.shape[0], rank}};
    const ValueId random =
        ops::random_normal(b, n.input("step"), projection, 1 / std::sqrt(static_cast<double>(rank)),
                           n.integer("update_proj_gap"), keys[i]);
    const ValueId low =
        right ? ops::matmul(b, g, random, false, true) : ops::matmul(b, random, g, true);
    m.push_back(u.mix(u.state(0, i), beta1, low, 1 - beta1));
    v.push_back(u.mix(u.state(1, i), beta2, ops::mul(b, low, low), 1 - beta2));
    const ValueId change = ops::div(b, m[i], u.plus(ops::sqrt(b, v[i]), u.attr("eps")));
    ValueId scaled;  // s g
    if (by_channel) {
      const auto length = [&](ValueId x) {
        return ops::sqrt(b, ops::reduce_sum(b, ops::mul(b, x, x), {axis}));
      };
      const ValueId s = ops::div(b, length(change), u.plus(length(low), 1e-8));
      scaled = ops::mul(b, g, ops::broadcast(b, s, type.shape, {1 - axis}));
    } else {
      const auto length = [&](ValueId x) { return ops::sqrt(b, ops::sum_squares(b, x)); };
      scaled = u.times(g, ops::div(b, length(change), u.plus(length(low), 1e-8)));
    }
    const ValueId length = ops::sqrt(b, ops::sum_squares(b, scaled)),
                  before = ops::cast(b, u.state(2, i), DType::f64);
    const ValueId growth =
        ops::maximum(b, ops::div(b, length, u.plus(before, 1e-8)), constant(1.01));
    const ValueId limit =
        ops::select(b, ops::compare(b, before, constant(0), "eq"), one, u.scaled(growth, 1 / 1.01));
    norms.push_back(ops::cast(b, ops::div(b, length, limit), type.dtype));
    const ValueId moved = ops::sub(b, u.p(i), u.times(scaled, ops::div(b, rate, limit)));
    p.push_back(u.shrunk(i, moved));
  }
  return u.results({p, m, v, norms});
}

Cost cost_apollo_adamw(const NodeView& n) {
  Cost c = update_cost(n, 8);
  for (int64_t i = 0; i < n.integer("count"); ++i)
    c.flops += 2.0 * static_cast<double>(n.in(static_cast<size_t>(i)).count() * n.integer("rank"));
  return c;
}

}  // namespace

Op define_apollo_adamw() {
  return update_op("apollo_adamw",
                   {required("beta1", 0.0), required("beta2", 0.0), required("eps", 0.0),
                    required("rank", 0), required("update_proj_gap", 0), required("scale", 0.0),
                    required("scale_type", "", {"channel", "tensor"}),
                    required("proj_type", "", {"std", "reverse_std", "left", "right"}),
                    required("keys", Shape{})},
                   infer_apollo_adamw, decompose_apollo_adamw, cost_apollo_adamw);
}

}  // namespace hone
