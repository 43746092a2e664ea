// upper_half(x): the upper halves of x f32, which is kept as halves (halves.cc): bf16 of x's shape; a view. f64 counts as
// f32.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_upper_half(const NodeView& n) {
  const DType x = n.in(0).dtype;
  if (x != DType::f32 && x != DType::f64) return bad_operands(n, "x is f32 or f64");
  return Types{{DType::bf16, n.in(0).shape}};
}

int64_t upper_half_offset(const NodeView& n) { return n.in(0).dtype == DType::f32 ? 0 : -1; }

}  // namespace

Op define_upper_half() {
  return {.name = "upper_half",
          .operands = {"x"},
          .infer = infer_upper_half,
          .cost = free_of_charge,
          .view_offset = upper_half_offset};
}

ValueId ops::upper_half(Builder& b, ValueId x) { return b.emit1("upper_half", {x}); }

}  // namespace hone
