// attention(q, k?, v?, cu_q, cu_k, block_table?, rng?, sample_ids?, bias?): per head h, query i,
//   s_ij = cap(scale q_i . k_j) + bias[h, reach-1-b] over the allowed keys j of i's segment,
//   lse_i = log sum_j exp s_ij,
//   p_ij = exp(s_ij - lse_i),   out_i = sum_j dropout(p_ij) v_j;   no allowed key: 0 and -inf.
// With the ends of a segment's queries and keys aligned, key j is b = (position of i) - (position
// of j) places before query i: causal allows b >= 0, window w > 0 allows b < w (and b > -w if not
// causal).
// bias f32[H,2*reach-1] has a value for each head and distance -b (T5, arXiv 1910.10683, section
// 2.1); no segment may be longer than reach.
// Attribute softcap c: cap(s) = c tanh(s / c); 0: cap(s) = s.
// Attribute first_head: dropout's masks are those of heads first_head, first_head + 1, ..., for heads that are
// some of all (passes/tensor_split.h). Devices without collectives do not read it.
// Attribute longest: no segment has more tokens (0: nobody knows); only the decomposition
// "by_row_gather" asks, whose rows are that long.
// With attribute bf16, or f16, a device may round the operands of its products to it, where that is
// faster. Head h reads key/value head h / (heads/kv_heads). Shapes: ops.h. Tokens past the last
// segment are neither queries nor keys.
#include "engine/ops/attention_parts.h"

namespace hone {
namespace {

Result<Types> infer_attention(const NodeView& n) {
  AttentionDims a = HONE_TRY(attention_dims(n));
  return Types{{a.dtype, {a.tq, a.heads * a.size}}, {wide(a.dtype), {a.heads, a.tq}}};
}

Values decompose_attention(Builder& b, const NodeView& n) {
  AttentionParts a = attention_parts(b, n);
  const KeyShares shares = shares_of_keys(b, a.scores, a.allowed);
  ValueId out = ops::matmul(b, dropped(b, a.keep, shares.p, n.real("dropout")), a.v);
  return {ops::cast(b, join_heads(b, out), a.dims.dtype), shares.lse};
}

Values grad_attention(Builder& b, const NodeView& n, const Values& d) {
  HONE_BUG_IF(d[1] != kNoValue, "attention: lse is a residual without a gradient");
  HONE_BUG_IF(n.has("block_table"), "attention over pages has no gradient");
  Values in{n.input("q"), n.input("k"),   n.input("v"),          n.output(0),
            n.output(1),  d[0],           n.input("cu_q"),       n.input("cu_k"),
            kNoValue,     n.input("rng"), n.input("sample_ids"), n.input("bias")};
  Values result(n.inputs(), kNoValue);
  Values g = b.emit("attention_grad", in, n.attrs());
  if (n.has("bias")) {
    result[n.slot("bias")] = g.back();
    g.pop_back();
  }
  std::copy(g.begin(), g.end(), result.begin());
  return result;
}

Cost cost_attention(const NodeView& n) { return attention_cost(n, 2); }

}  // namespace

Op define_attention() {
  return {
      .name = "attention",
      .operands = {"q", "k?", "v?", "cu_q", "cu_k", "block_table?", "rng?", "sample_ids?", "bias?"},
      .attrs = attention_attrs(),
      .infer = infer_attention,
      .decompositions = {{"packed", decompose_attention}, {"by_row_gather", attention_by_row}},
      .grad = grad_attention,
      .cost = cost_attention};
}

ops::Attention ops::attention(Builder& b, const AttentionInputs& in, const AttentionOptions& o) {
  Attrs attrs{
      {"heads", o.heads}, {"kv_heads", o.kv_heads}, {"causal", o.causal}, {"scale", o.scale}};
  if (o.window > 0) attrs.set("window", o.window);
  if (o.softcap > 0) attrs.set("softcap", o.softcap);
  bool random = o.dropout > 0;
  if (random) {
    attrs.set("dropout", o.dropout);
    attrs.set("key", o.key);
  }
  Values operands{in.q,
                  in.k,
                  in.v,
                  in.cu_q,
                  in.cu_k,
                  in.block_table,
                  random ? in.rng : kNoValue,
                  random ? in.sample_ids : kNoValue};
  if (in.bias != kNoValue || in.sinks != kNoValue) operands.push_back(in.bias);
  if (in.sinks != kNoValue) operands.push_back(in.sinks);
  Values v = b.emit(in.sinks != kNoValue ? "sink_attention" : "attention", operands, attrs);
  return {v[0], v[1]};
}

}  // namespace hone
