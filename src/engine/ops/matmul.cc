// matmul(x, y, acc?) = x y + acc.   x [..,M,K] ([..,K,M] with trans_x), y [..,K,N] ([..,N,K] with
// trans_y), equal leading dimensions -> [..,M,N]. With attribute bf16 the elements of x and y are
// rounded to the nearest bf16, with f16 to f16; sums stay in the type of x. An operand that is kept
// in that type already counts as f32. Attribute `as`: the type that the result is rounded to.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_matmul(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  const Type &x = n.in(0), &y = n.in(1);
  const DType own = HONE_TRY(product_type(n, 0, 1));
  if (x.rank() < 2 || x.rank() != y.rank())
    return bad_operands(n, "operands need the same number of dimensions, at least 2");
  size_t r = x.shape.size() - 2;
  if (!std::equal(x.shape.begin(), x.shape.end() - 2, y.shape.begin()))
    return bad_operands(n, "leading dimensions differ");
  bool tx = n.flag("trans_x"), ty = n.flag("trans_y");
  if (x.shape[r + !tx] != y.shape[r + ty]) return bad_operands(n, "inner sizes differ");
  Type t{HONE_TRY(kept_type(n, own)), x.shape};
  t.shape[r] = x.shape[r + tx];
  t.shape[r + 1] = y.shape[r + !ty];
  if (n.has("acc")) HONE_TRY(expect_addend(n, n.slot("acc"), t, own));
  return Types{t};
}

Values grad_matmul(Builder& b, const NodeView& n, const Values& d) {
  bool tx = n.flag("trans_x"), ty = n.flag("trans_y");
  ValueId x = n.input(0), y = n.input(1);
  const DType by = rounded_to(n);
  ValueId dx = tx ? ops::matmul(b, y, d[0], ty, true, by) : ops::matmul(b, d[0], y, false, !ty, by);
  ValueId dy = ty ? ops::matmul(b, d[0], x, true, tx, by) : ops::matmul(b, x, d[0], !tx, false, by);
  return {dx, dy, n.has("acc") ? d[0] : kNoValue};
}

Cost cost_matmul(const NodeView& n) {
  const Shape& x = n.in(0).shape;
  return product_cost(n, n.out(0).count(), n.flag("trans_x") ? x[x.size() - 2] : x.back());
}

}  // namespace

Op define_matmul() {
  return {.name = "matmul",
          .operands = {"x", "y", "acc?"},
          .attrs = with_rounding({{"trans_x", false}, {"trans_y", false}, kept_attr()}),
          .infer = infer_matmul,
          .grad = grad_matmul,
          .cost = cost_matmul,
          .over = {{0, "acc", true}},
          .product = true};
}

ValueId ops::matmul(Builder& b, ValueId x, ValueId y, bool trans_x, bool trans_y, DType rounded) {
  Attrs attrs;
  if (trans_x) attrs.set("trans_x", true);
  if (trans_y) attrs.set("trans_y", true);
  set_rounding(attrs, rounded);
  return b.emit1("matmul", {x, y}, attrs);
}

}  // namespace hone
