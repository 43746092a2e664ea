#include "learn/losses/similarity.h"

namespace hone {
namespace {

constexpr double kLeastLength = 1e-12;  // of torch.nn.functional.normalize

// The lengths [R] of rows [R,E]. The square root has no gradient at 0.
ValueId row_lengths(Builder& b, ValueId x) {
  const ValueId squares = ops::reduce_sum(b, ops::mul(b, x, x), {1});
  return ops::sqrt(b, ops::maximum(b, squares, scalar(b, kLeastLength * kLeastLength)));
}

}  // namespace

ValueId scalar(Builder& b, double value) { return ops::constant(b, value, {DType::f32, {}}); }

ValueId unit_rows(Builder& b, ValueId x) {
  const Shape shape = b.type(x).shape;
  return ops::div(b, x, ops::broadcast(b, row_lengths(b, x), shape, {0}));
}

ValueId cosine_of_rows(Builder& b, ValueId x, ValueId y) {
  return ops::reduce_sum(b, ops::mul(b, unit_rows(b, x), unit_rows(b, y)), {1});
}

ValueId distance_of_rows(Builder& b, ValueId x, ValueId y, const std::string& kind, double apart) {
  if (kind == "cosine") return ops::sub(b, scalar(b, 1), cosine_of_rows(b, x, y));
  ValueId d = ops::sub(b, x, y);
  if (apart != 0) d = ops::add(b, d, scalar(b, apart));
  if (kind == "euclidean") return row_lengths(b, d);
  return ops::reduce_sum(b, ops::maximum(b, d, ops::neg(b, d)), {1});
}

ValueId sum_of_rows(Builder& b, ValueId values, ValueId weight, ValueId scale) {
  return ops::mul(b, ops::reduce_sum(b, ops::mul(b, values, weight), {0}), scale);
}

}  // namespace hone
