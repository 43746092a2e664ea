#include "engine/ops/cost.h"

namespace hone {

Cost cost_of(const NodeView& n) { return n.node.op->cost ? n.node.op->cost(n) : elementwise(n, 1); }

Cost elementwise(const NodeView& n, double flops_per_element) {
  Cost c;
  for (size_t i = 0; i < n.inputs(); ++i)
    if (n.has(i)) c.bytes += static_cast<double>(n.in(i).bytes());
  for (size_t i = 0; i < n.node.out.size(); ++i) c.bytes += static_cast<double>(n.out(i).bytes());
  if (!n.node.out.empty()) c.flops = flops_per_element * static_cast<double>(n.out(0).count());
  return c;
}

Cost product_cost(const NodeView& n, int64_t sums, int64_t terms) {
  Cost c = elementwise(n, 0);
  c.flops = 2.0 * static_cast<double>(sums) * static_cast<double>(terms);
  return c;
}

Cost free_of_charge(const NodeView&) { return {}; }

}  // namespace hone
