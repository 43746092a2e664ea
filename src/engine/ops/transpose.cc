// transpose(x): dimension i of the result is dimension permutation[i] of x.
#include "engine/ops/support.h"

namespace hone {
namespace {

Result<Types> infer_transpose(const NodeView& n) {
  std::vector<int64_t> order = n.integers("permutation"), sorted = order;
  Type t = n.in(0);
  std::sort(sorted.begin(), sorted.end());
  bool good = sorted.size() == t.shape.size();
  for (size_t i = 0; good && i < sorted.size(); ++i) good = sorted[i] == static_cast<int64_t>(i);
  if (!good)
    return bad_operands(n,
                        fmt::format("{} is not a permutation of the dimensions", text_of(order)));
  for (size_t i = 0; i < order.size(); ++i)
    t.shape[i] = n.in(0).shape[static_cast<size_t>(order[i])];
  return Types{t};
}

Values grad_transpose(Builder& b, const NodeView& n, const Values& d) {
  std::vector<int64_t> order = n.integers("permutation"), inverse(order.size());
  for (size_t i = 0; i < order.size(); ++i)
    inverse[static_cast<size_t>(order[i])] = static_cast<int64_t>(i);
  return {ops::transpose(b, d[0], inverse)};
}

Cost cost_transpose(const NodeView& n) { return elementwise(n, 0); }

}  // namespace

Op define_transpose() {
  return {.name = "transpose",
          .operands = {"x"},
          .attrs = {required("permutation", Shape{})},
          .infer = infer_transpose,
          .grad = grad_transpose,
          .cost = cost_transpose};
}

ValueId ops::transpose(Builder& b, ValueId x, std::vector<int64_t> permutation) {
  return b.emit1("transpose", {x}, {{"permutation", std::move(permutation)}});
}

}  // namespace hone
