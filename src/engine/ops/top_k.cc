// top_k(x) {k}: the k largest elements of each row, largest first, and their columns.
// x [T,C] -> values [T,k], columns i32[T,k]. Equal elements keep the order of their columns; a NaN
// counts as the largest. The gradient of a value goes to its place in x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_top_k(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  HONE_TRY(expect_rank(n, 0, 2));
  const int64_t k = n.integer("k"), columns = n.in(0).shape[1];
  if (k < 1 || k > columns) return bad_operands(n, fmt::format("k={} of {} columns", k, columns));
  const Shape shape{n.in(0).shape[0], k};
  return Types{{n.in(0).dtype, shape}, {DType::i32, shape}};
}

Values grad_top_k(Builder& b, const NodeView& n, const Values& d) {
  return {b.emit1("top_k_grad", {n.output(1), d[0]}, {{"columns", n.in(0).shape[1]}})};
}

}  // namespace

Op define_top_k() {
  return {.name = "top_k",
          .operands = {"x"},
          .attrs = {required("k", 0)},
          .infer = infer_top_k,
          .grad = grad_top_k,
          .cost = [](const NodeView& n) {
            return elementwise(n, static_cast<double>(n.integer("k")));
          }};
}

ops::TopK ops::top_k(Builder& b, ValueId x, int64_t k) {
  const Values v = b.emit("top_k", {x}, {{"k", k}});
  return {v[0], v[1]};
}

}  // namespace hone
