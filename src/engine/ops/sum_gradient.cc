// sum_gradient(x) {ranks, rank, first} = x, of a value that all ranks of an axis have and read in different
// ways: its gradient is the sum of theirs. Attributes: collective_parts.h. A pass removes the node once gradients
// exist (passes/tensor_split.h).
#include "engine/ops/collective_parts.h"

namespace hone {
namespace {

Result<Types> infer_sum_gradient(const NodeView& n) {
  HONE_TRY(expect_split(n, 1));
  HONE_TRY(expect_float(n, 0));
  return Types{n.in(0)};
}

Values decompose_sum_gradient(Builder& b, const NodeView& n) {
  return {ops::mul(b, n.input(0), number(b, 1, n.input(0)))};
}

Values grad_sum_gradient(Builder& b, const NodeView& n, const Values& d) {
  return {ops::wait(b, b.emit1("all_reduce", {d[0]}, n.attrs()))};
}

}  // namespace

Op define_sum_gradient() {
  return {.name = "sum_gradient",
          .operands = {"x"},
          .attrs = collective_attrs(false),
          .infer = infer_sum_gradient,
          .decompositions = {decompose_sum_gradient},
          .grad = grad_sum_gradient,
          .cost = free_of_charge};
}

}  // namespace hone
