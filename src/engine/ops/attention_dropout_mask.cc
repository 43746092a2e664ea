// attention_dropout_mask(rng, sample_ids, cu_q, cu_k) = which attention probabilities are kept:
// element (h, i, j) with query i and key j in one segment is kept iff attention_dropout_word(key,
// sample_ids[i], h, i - start of its queries, j - start of its keys) >= threshold(p); true outside
// the segments. rng i64[2], sample_ids i64[Tq], cu_q, cu_k i32[S+1], attributes p, heads, tk, key
// -> bool [heads, Tq, tk].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_attention_dropout_mask(const NodeView& n) {
  HONE_TRY(expect_type(n, 0, {DType::i64, {2}}));
  HONE_TRY(expect_rank(n, 1, 1));
  HONE_TRY(expect_rank(n, 2, 1));
  HONE_TRY(expect_same(n, 2, 3));
  if (n.in(1).dtype != DType::i64 || n.in(2).dtype != DType::i32)
    return bad_operands(n, "sample ids are i64, segments i32");
  double p = n.real("p");
  int64_t heads = n.integer("heads"), tk = n.integer("tk");
  if (!(p >= 0 && p < 1) || heads < 0 || tk < 0)
    return bad_operands(n, fmt::format("p={}, heads={} or tk={} is out of range", p, heads, tk));
  return Types{{DType::boolean, {heads, n.in(1).shape[0], tk}}};
}

Cost cost_attention_dropout_mask(const NodeView& n) { return elementwise(n, 20); }

}  // namespace

Op define_attention_dropout_mask() {
  return {
      .name = "attention_dropout_mask",
      .operands = {"rng", "sample_ids", "cu_q", "cu_k"},
      .attrs = {required("p", 0.0), required("heads", 0), required("tk", 0), required("key", "")},
      .infer = infer_attention_dropout_mask,
      .cost = cost_attention_dropout_mask};
}

ValueId ops::attention_dropout_mask(Builder& b, ValueId rng, ValueId sample_ids, ValueId cu_q,
                                    ValueId cu_k, double p, int64_t heads, int64_t tk,
                                    const std::string& key) {
  return b.emit1("attention_dropout_mask", {rng, sample_ids, cu_q, cu_k},
                 {{"p", p}, {"heads", heads}, {"tk", tk}, {"key", key}});
}

}  // namespace hone
