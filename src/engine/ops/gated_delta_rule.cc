// gated_delta_rule(q, k, v, decay, beta, cu, state?) (Yang et al., Gated DeltaNet, arXiv 2412.06464,
// section 3): each head of values has a state M [D,E], which its tokens change one after another,
//   M' = exp(decay_t) M,   u_t = beta_t (v_t - M'^T k_t),   M = M' + k_t u_t^T,   out_t = M^T q_t,
// with the queries and keys of its head of keys. M is 0 in front of a segment, or `state` if it is given.
// q, k [T,G*D], v [T,H*E], decay, beta [T,H], cu i32[S+1], state [S,H*D*E]. Tokens past the last segment:
// 0. -> out of v's type; with state also the state after each segment. The state has no gradient.
#include "engine/ops/gated_delta_parts.h"

namespace hone {
namespace {

Result<Types> infer_gated_delta(const NodeView& n) {
  const DeltaRuleDims d = HONE_TRY(gated_delta_dims(n));
  const Type v = n.in("v");
  if (!n.has("state")) return Types{v};
  const Type state{v.dtype, {d.segments, d.state()}};
  HONE_TRY(expect_type(n, n.slot("state"), state));
  return Types{v, state};
}

Values grad_gated_delta(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(n.has("state"), "gated_delta_rule: a state has no gradient");
  Values result(n.inputs(), kNoValue);
  const Values g = b.emit("gated_delta_rule_grad",
                          {n.input("q"), n.input("k"), n.input("v"), n.input("decay"),
                           n.input("beta"), n.input("cu"), d[0]},
                          n.attrs());
  std::copy(g.begin(), g.end(), result.begin());
  return result;
}

// Three products of a token with a state, and its decay.
Cost cost_gated_delta(const NodeView& n) {
  Cost c = elementwise(n, 0);
  const Result<DeltaRuleDims> d = gated_delta_dims(n);
  if (d) c.flops = 7.0 * static_cast<double>(d->tokens) * static_cast<double>(d->state());
  return c;
}

}  // namespace

Op define_gated_delta_rule() {
  return {.name = "gated_delta_rule",
          .operands = {"q", "k", "v", "decay", "beta", "cu", "state?"},
          .attrs = gated_delta_attrs(),
          .infer = infer_gated_delta,
          .grad = grad_gated_delta,
          .cost = cost_gated_delta};
}

ops::DeltaRule ops::gated_delta_rule(Builder& b, const DeltaRuleInputs& in, int64_t heads,
                                     int64_t key_heads) {
  const Values v =
      b.emit("gated_delta_rule", {in.q, in.k, in.v, in.decay, in.beta, in.cu, in.state},
             {{"heads", heads}, {"key_heads", key_heads}});
  return {v[0], in.state == kNoValue ? kNoValue : v[1]};
}

}  // namespace hone
