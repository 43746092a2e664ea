// Launches of LAMB, whose weights move by a rate of their whole tensor.
#include <cstddef>

#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

constexpr int64_t kPowersBytes = 2 * sizeof(double);

// LambTensors of the same launches: what they are, and where their addresses go.
struct LambTensors {
  Updates all{};
  std::vector<LaunchArgument::Address> addresses;
  int64_t blocks = 0;

  void add(const NodeView& n, size_t i) {
    const auto count = static_cast<size_t>(n.integer("count"));
    const std::vector<int64_t>& decays = n.integers("decay");
    const auto index = static_cast<size_t>(all.count++);
    UpdateTensor& t = all.of[index];
    t.size = n.in(i).count();
    t.decay = decays.empty() || decays[i] != 0 ? n.real("weight_decay") : 0;
    t.first_block = blocks;
    blocks += (t.size + kUpdated - 1) / kUpdated;
    const auto point = [&](size_t member, LaunchArgument::Of of, size_t at) {
      addresses.push_back(
          {offsetof(Updates, of) + index * sizeof(UpdateTensor) + member, of, at, 0});
    };
    using Of = LaunchArgument::Of;
    point(offsetof(UpdateTensor, p), Of::input, i);
    point(offsetof(UpdateTensor, g), Of::input, count + i);
    point(offsetof(UpdateTensor, new_p), Of::output, i);
    for (size_t m = 0; m < 2; ++m) {
      point(offsetof(UpdateTensor, states) + m * sizeof(void*), Of::input, (2 + m) * count + i);
      point(offsetof(UpdateTensor, new_states) + m * sizeof(void*), Of::output,
            (1 + m) * count + i);
    }
  }
  LaunchArgument argument() const {
    LaunchArgument a = LaunchArgument::of_value(all);
    a.addresses = addresses;
    return a;
  }
};

Result<Launches> lamb(const NodeView& n) {
  const auto count = static_cast<size_t>(n.integer("count"));
  std::vector<LambTensors> all;
  std::vector<DType> types;  // of the gradients of each
  int64_t most = 0;
  for (size_t i = 0; i < count; ++i) {
    const Type &p = n.in(i), &g = n.in(count + i);
    if (p.dtype != DType::f32 || !is_fused(g.dtype) || n.in(2 * count + i).dtype != DType::f32)
      return no_kernel(n,
                       fmt::format("{} with a gradient in {}", name_of(p.dtype), name_of(g.dtype)));
    if (p.count() == 0) continue;
    if (all.empty() || all.back().all.count == kMostUpdated || types.back() != g.dtype) {
      all.emplace_back();
      types.push_back(g.dtype);
      Update& rule = all.back().all.rule;
      rule.beta1 = n.real("beta1");
      rule.beta2 = n.real("beta2");
      rule.eps = n.real("eps");
    }
    all.back().add(n, i);
    most = std::max(most, all.back().blocks);
  }
  if (most > 0x7fffffff) return no_kernel(n, "more than 2^31 blocks");
  Launches made;
  const int64_t rates = whole_part(kPowersBytes), parts = rates + whole_part(4 * kMostUpdated);
  made.workspace_bytes = parts + 2 * most * static_cast<int64_t>(sizeof(double));
  Launch powers("update_powers");
  powers.in(n.slot("step")).work().value(n.real("beta1")).value(n.real("beta2"));
  powers.block_x = kWarp;
  made.launches.push_back(std::move(powers));
  for (size_t k = 0; k < all.size(); ++k) {
    const LaunchArgument table = all[k].argument();
    const auto blocks = static_cast<unsigned>(all[k].blocks);
    Launch moments(kernel_of("lamb_moments", types[k]));
    moments.in(n.slot("g_scale")).work().work(parts).argument(table).grid_x = blocks;
    Launch rate("lamb_rates");
    rate.in(n.slot("lr")).in(n.slot("g_scale")).work(parts).work(rates).argument(table);
    rate.grid_x = static_cast<unsigned>(all[k].all.count);
    Launch weights("lamb_weights");
    weights.work().work(rates).argument(table).grid_x = blocks;
    for (Launch* l : {&moments, &rate, &weights}) made.launches.push_back(std::move(*l));
  }
  return made;
}

}  // namespace

void add_lamb(LaunchTable& t) { t["lamb"] = lamb; }

}  // namespace hone::cuda
