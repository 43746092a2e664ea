// sink_attention(q, k?, v?, cu_q, cu_k, block_table?, rng?, sample_ids?, bias?, sinks): attention, whose
// attributes it has, with one more score for each head h, sinks[h], that has no value (gpt-oss, arXiv
// 2508.10925; Xiao et al., arXiv 2309.17453):
//   lse_i = log (exp sinks[h] + sum_j exp s_ij),   p_ij = exp(s_ij - lse_i).
// sinks [H] in the type of lse. Its gradient is attention's with this lse and this out; that of sinks[h] is
// - sum_i exp(sinks[h] - lse_i) out_i . dout_i.
#include "engine/ops/attention_parts.h"

namespace hone {
namespace {

Result<Types> infer_sink_attention(const NodeView& n) {
  AttentionDims a = HONE_TRY(attention_dims(n));
  if (a.reach > 0) return bad_operands(n, "a bias beside sinks");
  HONE_TRY(expect_type(n, n.slot("sinks"), {wide(a.dtype), {a.heads}}));
  return Types{{a.dtype, {a.tq, a.heads * a.size}}, {wide(a.dtype), {a.heads, a.tq}}};
}

// [H,T] -> [T,H*D], each number for all of its head.
ValueId over_channels(Builder& b, ValueId x, const Shape& rows) {
  const int64_t heads = b.type(x).shape[0];
  const ValueId by_token = ops::transpose(b, x, {1, 0});
  const Shape all{rows[0], heads, rows[1] / heads};
  return ops::reshape(b, ops::broadcast(b, by_token, all, {0, 1}), rows);
}

Values decompose_sink_attention(Builder& b, const NodeView& n) {
  const Type result = n.out(0), lse_type = n.out(1);
  Values in(n.node.in.begin(), n.node.in.begin() + static_cast<std::ptrdiff_t>(n.slot("bias")));
  const Values plain = b.emit("attention", in, n.attrs());
  const ValueId sinks = ops::broadcast(b, n.input("sinks"), lse_type.shape, {0});
  const ValueId most = ops::maximum(b, plain[1], sinks);
  const ValueId both =
      ops::add(b, ops::exp(b, ops::sub(b, plain[1], most)), ops::exp(b, ops::sub(b, sinks, most)));
  const ValueId lse = ops::add(b, ops::log(b, both), most);
  const ValueId share = ops::exp(b, ops::sub(b, plain[1], lse));
  const ValueId out = ops::mul(b, widened(b, plain[0]), over_channels(b, share, result.shape));
  return {ops::cast(b, out, result.dtype), lse};
}

Values grad_sink_attention(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(d[1] != kNoValue, "sink_attention: lse is a residual without a gradient");
  HONE_BUG_IF(n.has("block_table"), "attention over pages has no gradient");
  const Type result = n.out(0), lse_type = n.out(1);
  const Values in{n.input("q"), n.input("k"),   n.input("v"),         n.output(0),
                  n.output(1),  d[0],           n.input("cu_q"),      n.input("cu_k"),
                  kNoValue,     n.input("rng"), n.input("sample_ids")};
  const size_t sinks_at = n.slot("sinks");
  Values g = b.emit("attention_grad", in, n.attrs());
  const int64_t heads = lse_type.shape[0];
  const ValueId products = ops::mul(b, widened(b, n.output(0)), widened(b, d[0]));
  const ValueId sums = ops::reduce_sum(
      b, ops::reshape(b, products, {result.shape[0], heads, result.shape[1] / heads}), {2});
  const ValueId sinks = ops::broadcast(b, n.input("sinks"), lse_type.shape, {0});
  const ValueId p = ops::exp(b, ops::sub(b, sinks, n.output(1)));  // [H,T]
  const ValueId dsinks =
      ops::neg(b, ops::reduce_sum(b, ops::mul(b, p, ops::transpose(b, sums, {1, 0})), {1}));
  g.resize(sinks_at + 1, kNoValue);
  g[sinks_at] = dsinks;
  return g;
}

Cost cost_sink_attention(const NodeView& n) { return attention_cost(n, 2); }

}  // namespace

Op define_sink_attention() {
  return {.name = "sink_attention",
          .operands = {"q", "k?", "v?", "cu_q", "cu_k", "block_table?", "rng?", "sample_ids?",
                       "bias?", "sinks"},
          .attrs = attention_attrs(),
          .infer = infer_sink_attention,
          .decompositions = {decompose_sink_attention},
          .grad = grad_sink_attention,
          .cost = cost_sink_attention};
}

}  // namespace hone
