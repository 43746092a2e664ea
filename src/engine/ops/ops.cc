#include "engine/ops/ops.h"

namespace hone {

std::vector<Op> all_define();  // generated from the files of this folder

const OpTable& op_table() {
  static const OpTable table(all_define());
  return table;
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
