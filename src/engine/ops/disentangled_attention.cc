// disentangled_attention(q, k, v, position_keys?, position_queries?, row_of, cu, rng?, sample_ids?)
// (He et al., DeBERTa, arXiv 2006.03654, section 3.1): per head, query i and key j of one segment,
//   r = row_of[i - j + reach - 1],
//   s_ij = scale (q_i . k_j + q_i . position_keys_r + k_j . position_queries_r),
//   lse_i = log sum_j exp s_ij,   out_i = sum_j dropout(exp(s_ij - lse_i)) v_j.
// Tokens past the last segment: 0 and -inf. Attribute first_head: dropout's masks are those of heads first_head,
// first_head + 1, ..., for heads that are divided among ranks. Shapes: ops.h.
#include "engine/ops/disentangled_parts.h"

namespace hone {
namespace {

Result<Types> infer_disentangled(const NodeView& n) {
  const DisentangledDims d = HONE_TRY(disentangled_dims(n));
  const Type q = n.in("q");
  return Types{q, {wide(q.dtype), {d.heads, d.tokens}}};
}

Values decompose_disentangled(Builder& b, const NodeView& n) {
  const DType kept = n.in("q").dtype;
  const double p_drop = n.real("dropout");
  DisentangledParts a = disentangled_parts(b, n);
  const KeyShares shares = shares_of_keys(b, a.scores, a.allowed);
  ValueId out = ops::matmul(b, dropped(b, a.keep, shares.p, p_drop), a.v);
  return {ops::cast(b, join_heads(b, out), kept), shares.lse};
}

Values grad_disentangled(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(d[1] != kNoValue, "disentangled_attention: lse is a residual without a gradient");
  const Values in{n.input("q"),
                  n.input("k"),
                  n.input("v"),
                  n.has("position_keys") ? n.input("position_keys") : kNoValue,
                  n.has("position_queries") ? n.input("position_queries") : kNoValue,
                  n.output(0),
                  n.output(1),
                  d[0],
                  n.input("row_of"),
                  n.input("cu"),
                  n.has("rng") ? n.input("rng") : kNoValue,
                  n.has("sample_ids") ? n.input("sample_ids") : kNoValue};
  Values result(n.inputs(), kNoValue);
  const bool keys = n.has("position_keys"), queries = n.has("position_queries");
  const Values g = b.emit("disentangled_attention_grad", in, n.attrs());
  std::copy_n(g.begin(), 3, result.begin());
  if (keys) result[3] = g[3];
  if (queries) result[4] = g.back();
  return result;
}

// As if every query saw every key of an evenly split batch: two products of pairs, and two of tokens
// with the rows of the distances between them.
Cost cost_disentangled(const NodeView& n) {
  Cost c = elementwise(n, 0);
  const Result<DisentangledDims> d = disentangled_dims(n);
  if (!d) return c;
  const double tokens = static_cast<double>(d->tokens),
               keys = tokens / static_cast<double>(d->segments),
               rows = std::min(2 * keys, static_cast<double>(d->rows));
  c.flops = 4 * tokens * (keys + rows) * static_cast<double>(d->heads * d->size);
  return c;
}

}  // namespace

Op define_disentangled_attention() {
  return {.name = "disentangled_attention",
          .operands = {"q", "k", "v", "position_keys?", "position_queries?", "row_of", "cu", "rng?",
                       "sample_ids?"},
          .attrs = disentangled_attrs(),
          .infer = infer_disentangled,
          .decompositions = {decompose_disentangled},
          .grad = grad_disentangled,
          .cost = cost_disentangled};
}

ops::Attention ops::disentangled_attention(Builder& b, const DisentangledInputs& in,
                                           const DisentangledOptions& o) {
  Attrs attrs{{"heads", o.heads}, {"scale", o.scale}};
  const bool random = o.dropout > 0;
  if (random) {
    attrs.set("dropout", o.dropout);
    attrs.set("key", o.key);
  }
  const Values v = b.emit("disentangled_attention",
                          {in.q, in.k, in.v, in.position_keys, in.position_queries, in.row_of,
                           in.cu, random ? in.rng : kNoValue, random ? in.sample_ids : kNoValue},
                          attrs);
  return {v[0], v[1]};
}

}  // namespace hone
