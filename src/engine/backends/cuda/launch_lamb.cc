// Launches of LAMB, whose weights move by a rate of their whole tensor.
#include "engine/backends/cuda/update_tensors.h"
#include "engine/ops/update_parts.h"

namespace hone::cuda {
namespace {

Result<Launches> lamb(const NodeView& n) {
  const auto count = static_cast<size_t>(n.integer("count"));
  Update rule{};
  rule.beta1 = n.real("beta1");
  rule.beta2 = n.real("beta2");
  rule.eps = n.real("eps");
  rule.trust_clip = n.flag("trust_clip");
  std::vector<UpdateTensors> all;
  int64_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    const Type &p = n.in(i), &g = n.in(count + i);
    if (p.dtype != DType::f32 || !is_fused(g.dtype) || n.in(2 * count + i).dtype != DType::f32)
      return no_kernel(n,
                       fmt::format("{} with a gradient in {}", name_of(p.dtype), name_of(g.dtype)));
    if (p.count() == 0) continue;
    const UpdatedPart part{i, count + i, 0, p.count()};
    if (all.empty() || !all.back().takes(part)) all.emplace_back(n, part, rule);
    rule.decay = weight_decay_of(n, i);
    all.back().add(part, rule, {0, 1, -1});
    most = std::max(most, all.back().most_blocks());
  }
  if (most > 0x7fffffff) return no_kernel(n, "more than 2^31 blocks");
  Launches made;
  const int64_t rates = whole_part(kPowerBytes), parts = rates + whole_part(4 * kMostUpdated);
  made.workspace_bytes = parts + 2 * most * static_cast<int64_t>(sizeof(double));
  made.launches.push_back(powers_launch(n));
  for (const UpdateTensors& tensors : all) {
    const LaunchArgument table = tensors.argument();
    const unsigned blocks = tensors.blocks();
    Launch moments(kernel_of("lamb_moments", tensors.gradients()));
    moments.in(n.slot("g_scale")).work().work(parts).argument(table).grid_x = blocks;
    Launch rate("lamb_rates");
    rate.in(n.slot("lr")).in(n.slot("g_scale")).work(parts).work(rates).argument(table);
    rate.grid_x = tensors.count();
    Launch weights("lamb_weights");
    weights.work().work(rates).argument(table).grid_x = blocks;
    for (Launch* l : {&moments, &rate, &weights}) made.launches.push_back(std::move(*l));
  }
  return made;
}

}  // namespace

void add_lamb(LaunchTable& t) { t["lamb"] = lamb; }

}  // namespace hone::cuda
