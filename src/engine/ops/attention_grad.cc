// attention_grad(q, k?, v?, out, lse, dout, cu_q, cu_k, block_table?, rng?, sample_ids?, bias?):
// the gradients of attention, whose attributes it has, from its results (Dao et al., arXiv
// 2205.14135, B.2):
//   p_ij = exp(s_ij - lse_i),   dv_j = sum_i dropout(p_ij) dout_i,   dp_ij = dropout(dout_i . v_j),
//   ds_ij = scale p_ij (dp_ij - out_i . dout_i),   dq_i = sum_j ds_ij k_j,   dk_j = sum_i ds_ij
//   q_i,   dbias[h, r] = sum of p_ij (dp_ij - out_i . dout_i) over the pairs at distance r.
// With a softcap c, ds_ij is also multiplied by 1 - tanh(scale q_i . k_j / c)^2.
// -> dq, dk, dv in the shapes of q, k, v; for a fused q one dqkv; dbias where there is a bias. With attribute `sums`, for a
// fused q, also the sums of the rows of dqkv as it is kept, in wide() of its type: the gradient of a bias of qkv.
// Pages have no gradient.
#include "engine/ops/attention_parts.h"

namespace hone {
namespace {

Result<Types> infer_attention_grad(const NodeView& n) {
  AttentionDims a = HONE_TRY(attention_dims(n));
  if (a.paged) return bad_operands(n, "attention over pages has no gradient");
  HONE_TRY(expect_type(n, n.slot("out"), {a.dtype, {a.tq, a.heads * a.size}}));
  HONE_TRY(expect_type(n, n.slot("lse"), {wide(a.dtype), {a.heads, a.tq}}));
  HONE_TRY(expect_same(n, n.slot("out"), n.slot("dout")));
  Types types{n.in("q")};
  if (!a.fused) types = {n.in("q"), n.in("k"), n.in("v")};
  if (a.reach > 0) types.push_back(n.in("bias"));
  if (!n.flag("sums")) return types;
  if (!a.fused) return bad_operands(n, "sums are of the gradient of a fused q");
  types.push_back({wide(a.dtype), {n.in("q").shape[1]}});
  return types;
}

Values decompose_attention_grad(Builder& b, const NodeView& n) {
  AttentionParts a = attention_parts(b, n);
  const AttentionDims& d = a.dims;
  const double p_drop = n.real("dropout");
  const Shape pairs = b.type(a.scores).shape;
  ValueId out = split_heads(b, ops::cast(b, n.input("out"), wide(d.dtype)), d.heads);
  ValueId dout = split_heads(b, ops::cast(b, n.input("dout"), wide(d.dtype)), d.heads);
  ValueId p = shares_again(b, a.scores, a.allowed, n.input("lse"));
  ValueId dv = ops::matmul(b, dropped(b, a.keep, p, p_drop), dout, true);
  ValueId dp = dropped(b, a.keep, ops::matmul(b, dout, a.v, false, true), p_drop);
  ValueId delta = ops::reduce_sum(b, ops::mul(b, out, dout), {2});
  ValueId dscore = ops::mul(b, p, ops::sub(b, dp, over_keys(b, delta, pairs)));
  ValueId ds = ops::mul(b, dscore, number(b, n.real("scale"), p));
  if (a.capped != kNoValue)
    ds = ops::mul(b, ds, ops::sub(b, number(b, 1, ds), ops::mul(b, a.capped, a.capped)));
  ValueId dq = ops::matmul(b, ds, a.k), dk = ops::matmul(b, ds, a.q, true);
  auto join = [&](ValueId x) { return ops::cast(b, join_heads(b, x), d.dtype); };
  auto sum_groups = [&](ValueId x) {
    if (d.heads == d.kv_heads) return x;
    return ops::reduce_sum(b, ops::reshape(b, x, {d.kv_heads, d.heads / d.kv_heads, d.tk, d.size}),
                           {1});
  };
  Values g{join(dq), join(sum_groups(dk)), join(sum_groups(dv))};
  if (d.fused) g = {ops::concat(b, g, 1)};
  if (d.reach > 0) {
    ValueId by_pair =
        ops::reshape(b, ops::transpose(b, dscore, {1, 2, 0}), {pairs[1] * pairs[2], d.heads});
    ValueId sums = ops::scatter_add_rows(b, a.distances, by_pair, 2 * d.reach - 1);
    g.push_back(ops::transpose(b, sums, {1, 0}));
  }
  return with_row_sums(b, n, std::move(g));
}

std::vector<AttrSpec> attrs_of_gradient() {
  std::vector<AttrSpec> attrs = attention_attrs();
  attrs.push_back({"sums", false});
  return attrs;
}

Cost cost_attention_grad(const NodeView& n) { return attention_cost(n, 5); }

}  // namespace

Op define_attention_grad() {
  return {.name = "attention_grad",
          .operands = {"q", "k?", "v?", "out", "lse", "dout", "cu_q", "cu_k", "block_table?",
                       "rng?", "sample_ids?", "bias?"},
          .attrs = attrs_of_gradient(),
          .infer = infer_attention_grad,
          .decompositions = {decompose_attention_grad},
          .cost = cost_attention_grad,
          .optional_results = {"sums"}};
}

}  // namespace hone
