// dropout_mask(rng, sample_ids, positions) = which elements dropout keeps: element (t, c) is kept
// iff dropout_word(key(seed, step, hash of `key`), sample_ids[t], positions[t], c) >= threshold(p),
// as base/core/philox.h defines them. rng i64[2] = {seed, step}, sample_ids i64[T], positions
// i32[T], attributes p, channels, key -> bool [T, channels].
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_dropout_mask(const NodeView& n) {
  HONE_TRY(expect_type(n, 0, {DType::i64, {2}}));
  HONE_TRY(expect_rank(n, 1, 1));
  int64_t rows = n.in(1).shape[0], channels = n.integer("channels");
  HONE_TRY(expect_type(n, 1, {DType::i64, {rows}}));
  HONE_TRY(expect_type(n, 2, {DType::i32, {rows}}));
  double p = n.real("p");
  if (!(p >= 0 && p < 1) || channels < 0)
    return bad_operands(n, fmt::format("p={} or channels={} is out of range", p, channels));
  return Types{{DType::boolean, {rows, channels}}};
}

Cost cost_dropout_mask(const NodeView& n) { return elementwise(n, 20); }

}  // namespace

Op define_dropout_mask() {
  return {.name = "dropout_mask",
          .operands = {"rng", "sample_ids", "positions"},
          .attrs = {required("p", 0.0), required("channels", 0), required("key", "")},
          .infer = infer_dropout_mask,
          .cost = cost_dropout_mask};
}

ValueId ops::dropout_mask(Builder& b, ValueId rng, ValueId sample_ids, ValueId positions, double p,
                          int64_t channels, const std::string& key) {
  return b.emit1("dropout_mask", {rng, sample_ids, positions},
                 {{"p", p}, {"channels", channels}, {"key", key}});
}

}  // namespace hone
