// upper_half(x): the upper halves of x f32, which is kept as halves (halves.cc): bf16 of x's shape; a view.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_upper_half(const NodeView& n) {
  if (n.in(0).dtype != DType::f32) return bad_operands(n, "x is f32");
  return Types{{DType::bf16, n.in(0).shape}};
}

int64_t upper_half_offset(const NodeView&) { return 0; }

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
