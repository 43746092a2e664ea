#include "engine/ops/ops.h"

#include "engine/ops/support.h"

namespace hone {

std::vector<Op> all_define();  // generated from the files of this folder

const OpTable& op_table() {
  static const OpTable table(all_define());
  return table;
}

Cost cost_of(const NodeView& n) { return n.node.op->cost ? n.node.op->cost(n) : elementwise(n, 1); }

int inplace_input(const NodeView& n, size_t output) {
  auto count = static_cast<size_t>(n.attrs().integer("count", 1));
  const std::vector<int>& of = n.node.op->inplace;
  size_t list = output / count;
  if (list >= of.size() || of[list] < 0) return -1;
  size_t input = static_cast<size_t>(of[list]) * count + output % count;
  return n.has(input) && n.in(input) == n.out(output) ? static_cast<int>(input) : -1;
}

int accumulated_output(const NodeView& n) {
  if (n.node.op->accumulator < 0 || !n.has(static_cast<size_t>(n.node.op->accumulator))) return -1;
  return n.node.op->name == "linear_cross_entropy" ? 4 : 0;
}

ValueId ops::activation(Builder& b, ValueId x, const std::string& kind) {
  if (kind == "none") return x;
  if (kind == "gelu") return gelu(b, x);
  if (kind == "gelu_tanh") return gelu_tanh(b, x);
  if (kind == "silu") return silu(b, x);
  if (kind == "relu") return relu(b, x);
  HONE_BUG_IF(true, "no activation is named '{}'", kind);
  return kNoValue;
}

}  // namespace hone
