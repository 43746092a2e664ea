#include "engine/passes/precision.h"

#include "engine/graph/op.h"

namespace hone {

Result<bool> set_precision(Program& p, Precision precision) {
  if (precision == Precision::f32) return false;
  bool any = false;
  for (Node& n : p.nodes) {
    if (n.op->attr("bf16") == nullptr) continue;
    // Groups of channels have few products for each element.
    if (n.op->attr("groups") != nullptr && n.attrs.integer("groups", 1) > 1) continue;
    const auto is_f32 = [&](ValueId v) { return v == kNoValue || p.type(v).dtype == DType::f32; };
    if (!is_f32(n.in[0]) || !is_f32(n.in[1])) continue;
    n.attrs.set(precision == Precision::bf16 ? "bf16" : "f16", true);
    any = true;
  }
  return any;
}

}  // namespace hone
