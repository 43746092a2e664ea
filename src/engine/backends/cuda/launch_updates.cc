#include "engine/backends/cuda/kernels/arguments.h"
#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

Result<Launches> adamw(const NodeView& n) {
  const auto count = static_cast<size_t>(n.integer("count"));
  const std::vector<int64_t>&decays = n.integers("decay"), &rows = n.integers("rows");
  if (!n.integers("round_keys").empty()) return no_kernel(n, "weights are rounded at random");
  Launches all;
  for (size_t i = 0; i < count; ++i) {
    const size_t g = count + i, m = 2 * count + i, v = 3 * count + i;
    const Type& p = n.in(i);
    if (p.dtype != DType::f32 || n.in(m).dtype != DType::f32 || !is_fused(n.in(g).dtype))
      return no_kernel(
          n, fmt::format("{} with a gradient in {}", name_of(p.dtype), name_of(n.in(g).dtype)));
    const int64_t size = n.in(m).count();
    if (size == 0) continue;
    // Rows [first, end) of p and g; the states are of these rows.
    const int64_t first = rows.empty() ? 0 : rows[0] * (p.count() / p.shape[0]);
    if (!rows.empty() && size != p.count()) {
      // The other rows of p' are those of p, which it is written over as a rule.
      Strided same;
      same.rank = 1;
      same.size[0] = p.count();
      same.stride[0] = 1;
      Launch copy(kernel_of_size("move", p.dtype));
      copy.in(i).out(i).value(p.count()).value(same).over(p.count());
      all.launches.push_back(std::move(copy));
    }
    const double decay = decays.empty() || decays[i] != 0 ? n.real("weight_decay") : 0;
    Launch l(kernel_of("adamw", n.in(g).dtype));
    l.in(i, first * size_of(p.dtype)).in(g, first * size_of(n.in(g).dtype)).in(m).in(v);
    l.in(n.slot("lr")).in(n.slot("step")).in(n.slot("g_scale"));
    l.out(i, first * size_of(p.dtype)).out(count + i).out(2 * count + i).value(size);
    l.value(AdamW{n.real("beta1"), n.real("beta2"), n.real("eps"), decay, n.flag("l2"),
                  n.flag("huggingface")});
    l.over(size);
    all.launches.push_back(std::move(l));
  }
  return all;
}

Result<Launches> sum_squares(const NodeView& n) {
  constexpr int64_t kMostParts = 256;
  Launches all;
  all.workspace_bytes = kMostParts * 8;
  for (size_t i = 0; i < n.inputs(); ++i) {
    const Type& x = n.in(i);
    const int64_t parts = std::clamp<int64_t>(
        (x.count() + 4 * kBlockThreads - 1) / (4 * kBlockThreads), 1, kMostParts);
    Launch squares(kernel_of("square_parts", x.dtype));
    squares.in(i).work().value(x.count()).blocks(parts);
    Launch add("add_square_parts");
    add.work().out(0, static_cast<int64_t>(i) * 8).value(parts);
    all.launches.push_back(std::move(squares));
    all.launches.push_back(std::move(add));
  }
  return all;
}

}  // namespace

void add_updates(LaunchTable& t) {
  t["adamw"] = adamw;
  t["sum_squares"] = sum_squares;
}

}  // namespace hone::cuda
