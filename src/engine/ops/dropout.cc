// dropout(x, rng, sample_ids, positions, residual?) = (keep ? x / (1-p) : 0) + residual, with keep
// of dropout_mask. x, residual [T,C], rng i64[2], sample_ids i64[T], positions i32[T]; attributes
// p, key -> [T,C]. The mask is never stored: the gradient is the same op with the same key. With attribute
// `sums` also the sums of the rows of the result as it is kept: f32[C], the gradient of a bias that was added to x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_dropout(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  int64_t rows = n.in(0).shape[0];
  HONE_TRY(expect_type(n, 1, {DType::i64, {2}}));
  HONE_TRY(expect_type(n, 2, {DType::i64, {rows}}));
  HONE_TRY(expect_type(n, 3, {DType::i32, {rows}}));
  if (n.has("residual")) HONE_TRY(expect_same(n, n.slot("x"), n.slot("residual")));
  double p = n.real("p");
  if (!(p >= 0 && p < 1)) return bad_operands(n, fmt::format("p={} is outside [0, 1)", p));
  Types made{n.in(0)};
  if (n.flag("sums")) made.push_back({wide(n.in(0).dtype), {n.in(0).shape[1]}});
  return made;
}

Values decompose_dropout(Builder& b, const NodeView& n) {
  double p = n.real("p");
  int64_t channels = n.in(0).shape[1];
  ValueId x = n.input(0);
  ValueId keep = ops::dropout_mask(b, n.input("rng"), n.input("sample_ids"), n.input("positions"),
                                   p, channels, n.text("key"));
  ValueId y = ops::select(b, keep, ops::mul(b, x, number(b, 1 / (1 - p), x)), number(b, 0, x));
  return with_row_sums(b, n, {n.has("residual") ? ops::add(b, y, n.input("residual")) : y});
}

Values grad_dropout(Builder& b, const NodeView& n, const Values& d) {
  ValueId dx = ops::dropout(b, d[0], n.input("rng"), n.input("sample_ids"), n.input("positions"),
                            n.real("p"), n.text("key"));
  return {dx, kNoValue, kNoValue, kNoValue, n.has("residual") ? d[0] : kNoValue};
}

Cost cost_dropout(const NodeView& n) { return elementwise(n, 20); }

}  // namespace

Op define_dropout() {
  return {.name = "dropout",
          .operands = {"x", "rng", "sample_ids", "positions", "residual?"},
          .attrs = {required("p", 0.0), required("key", ""), {"sums", false}},
          .infer = infer_dropout,
          .decompositions = {decompose_dropout},
          .grad = grad_dropout,
          .cost = cost_dropout,
          .over = {{0, "x"}},
          .optional_results = {"sums"}};
}

ValueId ops::dropout(Builder& b, ValueId x, ValueId rng, ValueId sample_ids, ValueId positions,
                     double p, const std::string& key, ValueId residual) {
  if (p == 0) return residual == kNoValue ? x : add(b, x, residual);
  return b.emit1("dropout", {x, rng, sample_ids, positions, residual}, {{"p", p}, {"key", key}});
}

}  // namespace hone
