#include "engine/plan/cost_model.h"

#include <algorithm>

#include "engine/ops/cost.h"
#include "engine/plan/op_speeds.h"

namespace hone {

namespace {

// The speed of a node's arithmetic: that of 16 bits if its operands are rounded to them or have them.
double flops_of(const NodeView& n, const Speeds& speeds) {
  const auto has = [&](const char* rounded, DType type) {
    return n.attrs().flag(rounded) || (n.has(0) && n.in(0).dtype == type);
  };
  return has("bf16", DType::bf16) ? speeds.bf16_flops
         : has("f16", DType::f16) ? speeds.f16_flops
                                  : speeds.f32_flops;
}

}  // namespace

double seconds_of(const NodeView& n, const Speeds& speeds) {
  if (speeds.ops) return speeds.ops->seconds_of(n);
  const Cost cost = cost_of(n);
  const double flops = flops_of(n, speeds);
  return std::max(flops > 0 ? cost.flops / flops : 0,
                  speeds.bytes_per_second > 0 ? cost.bytes / speeds.bytes_per_second : 0);
}

double seconds_of(const Program& p, const Speeds& speeds) {
  double sum = 0;
  for (const Node& n : p.nodes) sum += seconds_of({p, n}, speeds);
  return sum;
}

int64_t traffic_of(const Program& p) {
  int64_t bytes = 0;
  for (const Node& n : p.nodes)
    if (n.op->traffic) bytes += n.op->traffic({p, n});
  return bytes;
}

}  // namespace hone
