#include "engine/passes/precision.h"

#include "engine/graph/op.h"

namespace hone {

Result<bool> set_precision(Program& p, Precision precision) {
  if (precision == Precision::f32) return false;
  bool any = false;
  for (Node& n : p.nodes) {
    if (!n.op->product) continue;
    if (p.type(n.in[0]).dtype != DType::f32 || p.type(n.in[1]).dtype != DType::f32) continue;
    n.attrs.set(precision == Precision::bf16 ? "bf16" : "f16", true);
    any = true;
  }
  return any;
}

}  // namespace hone
