#include "engine/backends/xla/write_ops.h"

namespace hone::xla {

const WriteTable& write_table() {
  static const WriteTable table = [] {
    WriteTable t;
    add_elementwise(t);
    add_shapes(t);
    add_sums(t);
    add_random(t);
    add_codes(t);
    add_blocks(t);
    add_groups(t);
    add_recurrent(t);
    add_attention(t);
    add_collectives(t);
    add_convolutions(t);
    add_pools(t);
    return t;
  }();
  return table;
}

WriteOp writer_of(const Op& op) {
  const auto at = write_table().find(op.name);
  return at == write_table().end() ? nullptr : at->second;
}

bool is_elementwise(const Op& op) {
  static const WriteTable table = [] {
    WriteTable t;
    add_elementwise(t);
    return t;
  }();
  return table.contains(op.name);
}

bool writes(const NodeView& n) {
  const std::string& name = n.node.op->name;
  if (name == "attention" || name == "attention_grad") return writes_attention(n);
  if (name == "max_pool2d_grad") return writes_max_pool2d_grad(n);
  return writer_of(*n.node.op) != nullptr;
}

}  // namespace hone::xla
