// gated_delta_rule_grad(q, k, v, decay, beta, cu, dout): the gradients of gated_delta_rule without a state,
// whose attributes it has. For each head of values, with M'_t and u_t of its tokens and the gradient N of
// its state, which is 0 after the segment's last token, from the last token to the first:
//   N += q_t dout_t^T,             dq_t = M_t dout_t,
//   r_t = N^T k_t,                 dv_t = beta_t r_t,      dbeta_t = r_t . (v_t - M'_t^T k_t),
//   dk_t = N u_t - M'_t dv_t,      N -= k_t dv_t^T,        ddecay_t = sum of N * M'_t,
//   N *= exp(decay_t).
// dq and dk are sums over the heads of values that share them. -> dq, dk, dv, ddecay, dbeta.
#include "engine/ops/gated_delta_parts.h"

namespace hone {
namespace {

Result<Types> infer_gated_delta_grad(const NodeView& n) {
  HONE_TRY(gated_delta_dims(n));
  const Type q = n.in("q"), v = n.in("v"), of_heads = n.in("beta");
  HONE_TRY(expect_type(n, n.slot("dout"), v));
  return Types{q, q, v, of_heads, of_heads};
}

// The forward pass once more, and six products of a token with a state.
Cost cost_gated_delta_grad(const NodeView& n) {
  Cost c = elementwise(n, 0);
  const Result<DeltaRuleDims> d = gated_delta_dims(n);
  if (d) c.flops = 20.0 * static_cast<double>(d->tokens) * static_cast<double>(d->state());
  return c;
}

}  // namespace

Op define_gated_delta_rule_grad() {
  return {.name = "gated_delta_rule_grad",
          .operands = {"q", "k", "v", "decay", "beta", "cu", "dout"},
          .attrs = gated_delta_attrs(),
          .infer = infer_gated_delta_grad,
          .cost = cost_gated_delta_grad};
}

}  // namespace hone
