// Launches of layers that carry a state along a text.
#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/gated_delta_parts.h"

namespace hone::cuda {
namespace {

constexpr int64_t kMostKeys = 256;  // of a head: its states fit into shared memory

Result<DeltaRule> delta_rule_of(const NodeView& n) {
  const DeltaRuleDims dims = HONE_TRY(gated_delta_dims(n));
  const DType t = n.in("q").dtype;
  if (t != DType::f32) return no_kernel(n, fmt::format("not for {}", name_of(t)));
  if (dims.keys > kMostKeys) return no_kernel(n, fmt::format("keys of {} channels", dims.keys));
  return DeltaRule{.tokens = dims.tokens,
                   .segments = dims.segments,
                   .heads = dims.heads,
                   .key_heads = dims.key_heads,
                   .keys = dims.keys,
                   .values = dims.values};
}

Launch delta_launch(const NodeView& n) {
  Launch l(n.node.op->name);
  for (size_t i = 0; i < 6; ++i) l.in(i);
  return l;
}

int state_bytes(const DeltaRule& d) { return static_cast<int>(4 * d.keys * kWarp); }

Result<Launches> gated_delta_rule(const NodeView& n) {
  const DeltaRule d = HONE_TRY(delta_rule_of(n));
  const bool carries = n.has("state");
  Launch l = delta_launch(n);
  carries ? l.in(n.slot("state")) : l.none();
  l.out(0);
  carries ? l.out(1) : l.none();
  l.value(d);
  l.grid_x = static_cast<unsigned>(d.segments * d.heads * ((d.values + kWarp - 1) / kWarp));
  l.shared_bytes = state_bytes(d);
  return one(std::move(l));
}

Result<Launches> gated_delta_rule_grad(const NodeView& n) {
  const DeltaRule d = HONE_TRY(delta_rule_of(n));
  constexpr int64_t kMostBlocks = 256;
  const int64_t blocks = std::min(kMostBlocks, d.segments * d.key_heads);
  const int64_t state = state_bytes(d), chunks = whole_part(blocks * kDeltaChunk * state);
  Launch l = delta_launch(n);
  l.in(n.slot("dout"));
  for (size_t k = 0; k < 5; ++k) l.out(k);
  l.work().work(chunks).value(d);
  l.grid_x = static_cast<unsigned>(blocks);
  l.shared_bytes = static_cast<int>(2 * state);
  Launches all = one(std::move(l));
  all.workspace_bytes = chunks + d.key_heads * (d.tokens / kDeltaChunk + d.segments) * state;
  return all;
}

}  // namespace

void add_recurrent(LaunchTable& t) {
  t["gated_delta_rule"] = gated_delta_rule;
  t["gated_delta_rule_grad"] = gated_delta_rule_grad;
}

}  // namespace hone::cuda
