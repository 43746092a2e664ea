// disentangled_attention_grad(q, k, v, position_keys?, position_queries?, out, lse, dout, row_of, cu,
// rng?, sample_ids?): the gradients of disentangled_attention, whose attributes it has, from its
// results. With p_ij = exp(s_ij - lse_i) and r the row of pair i, j,
//   dv_j = sum_i dropout(p_ij) dout_i,   dp_ij = dropout(dout_i . v_j),
//   ds_ij = scale p_ij (dp_ij - out_i . dout_i),
//   dq_i = sum_j ds_ij (k_j + position_keys_r),   dk_j = sum_i ds_ij (q_i + position_queries_r),
//   dposition_keys_r = sum ds_ij q_i,   dposition_queries_r = sum ds_ij k_j over the pairs of row r.
// -> dq, dk, dv and, where there are the operands, dposition_keys, dposition_queries.
#include "engine/ops/disentangled_parts.h"

namespace hone {
namespace {

Result<Types> infer_disentangled_grad(const NodeView& n) {
  const DisentangledDims d = HONE_TRY(disentangled_dims(n));
  const Type q = n.in("q");
  HONE_TRY(expect_type(n, n.slot("out"), q));
  HONE_TRY(expect_type(n, n.slot("dout"), q));
  HONE_TRY(expect_type(n, n.slot("lse"), {wide(q.dtype), {d.heads, d.tokens}}));
  Types types{q, q, q};
  for (const char* name : {"position_keys", "position_queries"})
    if (n.has(name)) types.push_back(n.in(name));
  return types;
}

Values decompose_disentangled_grad(Builder& b, const NodeView& n) {
  const DType kept = n.in("q").dtype;
  const double p_drop = n.real("dropout"), scale = n.real("scale");
  DisentangledParts a = disentangled_parts(b, n);
  const DisentangledDims& d = a.dims;
  const Shape pairs = b.type(a.scores).shape;
  ValueId out = split_heads(b, widened(b, n.input("out")), d.heads);
  ValueId dout = split_heads(b, widened(b, n.input("dout")), d.heads);
  ValueId p = shares_again(b, a.scores, a.allowed, n.input("lse"));
  ValueId dv = ops::matmul(b, dropped(b, a.keep, p, p_drop), dout, true);
  ValueId dp = dropped(b, a.keep, ops::matmul(b, dout, a.v, false, true), p_drop);
  ValueId delta = ops::reduce_sum(b, ops::mul(b, out, dout), {2});
  ValueId ds = ops::mul(b, p, ops::sub(b, dp, over_keys(b, delta, pairs)));
  ds = ops::mul(b, ds, number(b, scale, ds));
  ValueId dq = ops::matmul(b, ds, a.k), dk = ops::matmul(b, ds, a.q, true);
  Values of_positions;
  if (a.position_keys != kNoValue) {
    ValueId by_row = sums_by_place(b, d, a.by_query, ds);  // [H,T,R]
    dq = ops::add(b, dq, ops::matmul(b, by_row, a.position_keys));
    of_positions.push_back(ops::matmul(b, by_row, a.q, true));
  }
  if (a.position_queries != kNoValue) {
    ValueId by_row = sums_by_place(b, d, a.by_key, ds);
    dk = ops::add(b, dk, ops::matmul(b, by_row, a.position_queries));
    of_positions.push_back(ops::matmul(b, by_row, a.k, true));
  }
  Values g{dq, dk, dv};
  g.insert(g.end(), of_positions.begin(), of_positions.end());
  for (ValueId& x : g) x = ops::cast(b, join_heads(b, x), kept);
  return g;
}

// Five products of pairs and six of tokens with rows against two and two.
Cost cost_disentangled_grad(const NodeView& n) {
  Cost c = elementwise(n, 0);
  const Result<DisentangledDims> d = disentangled_dims(n);
  if (!d) return c;
  const double tokens = static_cast<double>(d->tokens),
               keys = tokens / static_cast<double>(d->segments),
               rows = std::min(2 * keys, static_cast<double>(d->rows));
  c.flops = 2 * tokens * (5 * keys + 6 * rows) * static_cast<double>(d->heads * d->size);
  return c;
}

}  // namespace

Op define_disentangled_attention_grad() {
  return {.name = "disentangled_attention_grad",
          .operands = {"q", "k", "v", "position_keys?", "position_queries?", "out", "lse", "dout",
                       "row_of", "cu", "rng?", "sample_ids?"},
          .attrs = disentangled_attrs(),
          .infer = infer_disentangled_grad,
          .decompositions = {decompose_disentangled_grad},
          .cost = cost_disentangled_grad};
}

}  // namespace hone
