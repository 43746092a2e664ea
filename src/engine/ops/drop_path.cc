// drop_path(x, rng, image_ids) = keep[b] ? x / (1-p) : 0 for the T / B rows of image b, with keep of dropout_mask
// at position 0, channel 0 (arXiv 1603.09382). x [T,C], rng i64[2], image_ids i64[B]; attributes p, key -> [T,C].
// The gradient is the same op with the same key.
#include "engine/ops/image_ops.h"
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_drop_path(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  HONE_TRY(expect_type(n, 1, {DType::i64, {2}}));
  HONE_TRY(expect_rank(n, 2, 1));
  const int64_t images = n.in(2).shape[0], rows = n.in(0).shape[0];
  HONE_TRY(expect_type(n, 2, {DType::i64, {images}}));
  if (images == 0 ? rows != 0 : rows % images != 0)
    return bad_operands(n, "the images have no equal numbers of rows");
  const double p = n.real("p");
  if (!(p >= 0 && p < 1)) return bad_operands(n, fmt::format("p={} is outside [0, 1)", p));
  return Types{n.in(0)};
}

Values decompose_drop_path(Builder& b, const NodeView& n) {
  const Type x = n.in(0);
  const int64_t images = n.in(2).shape[0];
  const double p = n.real("p");
  const ValueId v = n.input(0);
  if (images == 0) return {ops::reshape(b, v, x.shape)};
  const ValueId keep =
      ops::dropout_mask(b, n.input("rng"), n.input("image_ids"),
                        ops::constant(b, 0, {DType::i32, {images}}), p, 1, n.text("key"));
  const Shape by_image{images, x.count() / images};
  const ValueId wide = ops::broadcast(b, ops::reshape(b, keep, {images}), by_image, {0});
  const ValueId scaled = ops::mul(b, ops::reshape(b, v, by_image), number(b, 1 / (1 - p), v));
  return {ops::reshape(b, ops::select(b, wide, scaled, number(b, 0, v)), x.shape)};
}

Values grad_drop_path(Builder& b, const NodeView& n, const Values& d) {
  return {ops::drop_path(b, d[0], n.input("rng"), n.input("image_ids"), n.real("p"), n.text("key")),
          kNoValue, kNoValue};
}

}  // namespace

Op define_drop_path() {
  return {.name = "drop_path",
          .operands = {"x", "rng", "image_ids"},
          .attrs = {required("p", 0.0), required("key", "")},
          .infer = infer_drop_path,
          .decompositions = {decompose_drop_path},
          .grad = grad_drop_path,
          .cost = [](const NodeView& n) { return elementwise(n, 1); },
          .over = {{0, "x"}}};
}

ValueId ops::drop_path(Builder& b, ValueId x, ValueId rng, ValueId image_ids, double p,
                       const std::string& key) {
  if (p == 0) return x;
  return b.emit1("drop_path", {x, rng, image_ids}, {{"p", p}, {"key", key}});
}

}  // namespace hone
