// halves(x): f32 as two halves (engine/graph/halves.h), in a tensor of x's type whose bytes are all upper halves, then
// all lower ones. With attribute `joined` the other way: x is kept as halves, the result is the numbers.
// f64 counts as f32.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_halves(const NodeView& n) {
  const DType x = n.in(0).dtype;
  if (x != DType::f32 && x != DType::f64) return bad_operands(n, "x is f32 or f64");
  return Types{n.in(0)};
}

Cost cost_halves(const NodeView& n) { return elementwise(n, 2); }

}  // namespace

Op define_halves() {
  return {.name = "halves",
          .operands = {"x"},
          .attrs = {{"joined", false}},
          .infer = infer_halves,
          .cost = cost_halves};
}

ValueId ops::halves(Builder& b, ValueId x, bool joined) {
  return b.emit1("halves", {x}, {{"joined", joined}});
}

}  // namespace hone
