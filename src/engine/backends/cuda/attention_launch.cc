#include "engine/backends/cuda/attention_launch.h"

namespace hone::cuda {

void add_optional(Launch& l, const NodeView& n, const char* operand, bool wanted) {
  wanted&& n.has(operand) ? l.in(n.slot(operand)) : l.none();
}
void add_qkv(Launch& l, const NodeView& n, const AttentionLaunch& d) {
  l.in(0);
  d.dims.fused ? l.in(0, d.k_at).in(0, d.v_at) : l.in(n.slot("k")).in(n.slot("v"));
}
void add_random(Launch& l, const NodeView& n, const AttentionLaunch& d) {
  add_optional(l, n, "rng", d.is_random);
  add_optional(l, n, "sample_ids", d.is_random);
  add_optional(l, n, "bias");
}
int64_t bias_columns(const AttentionLaunch& d) {
  return d.dims.reach > 0 ? d.dims.heads * (2 * d.dims.reach - 1) : 0;
}
Launch sum_bias_parts(const AttentionLaunch& d, int64_t parts, int64_t tiles) {
  const int64_t columns = bias_columns(d);
  Launch add("add_parts_f32");
  add.work(parts).none().out(d.dims.fused ? 1 : 3).value(tiles).value(columns);
  return std::move(add.over(columns));
}

}  // namespace hone::cuda
