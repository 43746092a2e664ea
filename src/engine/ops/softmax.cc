// softmax(x): of each row, y = exp(x - max) / sum of them.   x [..,C] -> [..,C], in f32 where x is kept
// in 16 bits.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_softmax(const NodeView& n) {
  HONE_TRY(expect_float(n, 0));
  if (n.in(0).rank() < 1) return bad_operands(n, "a scalar has no rows");
  return Types{{wide(n.in(0).dtype), n.in(0).shape}};
}

std::vector<int64_t> axes_before(int rank) {
  std::vector<int64_t> axes;
  for (int64_t a = 0; a + 1 < rank; ++a) axes.push_back(a);
  return axes;
}

Values decompose_softmax(Builder& b, const NodeView& n) {
  const ValueId x = widened(b, n.input(0));
  const Type t = b.type(x);
  const int64_t last = t.rank() - 1;
  const auto of_rows = [&](ValueId v) {
    return ops::broadcast(b, v, t.shape, axes_before(t.rank()));
  };
  const ValueId e = ops::exp(b, ops::sub(b, x, of_rows(ops::reduce_max(b, x, {last}))));
  return {ops::div(b, e, of_rows(ops::reduce_sum(b, e, {last})))};
}

Values grad_softmax(Builder& b, const NodeView& n, const Values& d) {
  const DType own = n.in(0).dtype;
  return {ops::cast(b, b.emit1("softmax_grad", {n.output(0), d[0]}), own)};
}

}  // namespace

Op define_softmax() {
  return {.name = "softmax",
          .operands = {"x"},
          .infer = infer_softmax,
          .decompositions = {decompose_softmax},
          .grad = grad_softmax,
          .cost = [](const NodeView& n) { return elementwise(n, 5); }};
}

ValueId ops::softmax(Builder& b, ValueId x) { return b.emit1("softmax", {x}); }

}  // namespace hone
