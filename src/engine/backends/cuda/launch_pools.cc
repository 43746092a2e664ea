// Launches of pools over images, of stochastic depth, and of the loss of soft labels.
#include "base/core/philox.h"
#include "engine/backends/cuda/launch_tables.h"
#include "engine/backends/cuda/launch_windows.h"

namespace hone::cuda {
namespace {

Result<Conv> pool_of(const NodeView& n) {
  const WindowDims d = HONE_TRY(pool_dims(n, n.in(0).shape));
  constexpr int64_t kMost = 0x7fffffff;
  if (!is_fused(n.in(0).dtype) || d.channels > kMost || d.out_h > kMost || d.out_w > kMost)
    return no_kernel(n, fmt::format("not for {}", n.in(0).text()));
  return windows_of(d);
}
void over_packs(Launch& l, const Type& t) {
  const int64_t channels = t.shape[3], packs = (channels + kSummedColumns - 1) / kSummedColumns;
  l.over(channels == 0 ? 0 : t.count() / channels * packs);
}

Result<Launches> pool(const NodeView& n, const char* kernel, bool is_mean) {
  const Conv c = HONE_TRY(pool_of(n));
  Launch l(kernel_of(kernel, n.in(0).dtype));
  l.in(0).out(0).value(c);
  if (is_mean) l.value(n.flag("counts_padding") ? 1 : 0);
  over_packs(l, n.out(0));
  return one(std::move(l));
}

Result<Launches> max_pool2d_grad(const NodeView& n) {
  const Conv c = HONE_TRY(pool_of(n));
  Launch l(kernel_of("max_pool_grad", n.in(0).dtype));
  l.in(0).in(1).in(2).out(0).value(c);
  over_packs(l, n.out(0));
  return one(std::move(l));
}

Result<Launches> drop_path(const NodeView& n) {
  const Type& x = n.in(0);
  const int64_t images = n.in(2).shape[0];
  constexpr int64_t kMostImages = 65'535;
  if (!is_fused(x.dtype) || images == 0 || images > kMostImages)
    return no_kernel(n, fmt::format("not for {} of {} images", x.text(), images));
  const double p = n.real("p");
  const int64_t size = x.count() / images;
  Launch l(kernel_of("drop_path", x.dtype));
  l.in(0).in(1).in(2).out(0).value(size).value(scope_hash(n.text("key")));
  l.value(dropout_threshold(p)).value(dropout_scale(p)).mapped(size);
  l.grid_y = static_cast<unsigned>(images);
  return one(std::move(l));
}

Result<Launches> soft_cross_entropy(const NodeView& n) {
  const Type& x = n.in(0);
  if (x.dtype != DType::f32 || x.count() == 0)
    return no_kernel(n, fmt::format("not for {}", x.text()));
  Launch rows("soft_cross_entropy");
  rows.in(0).in(1).out(1).value(x.shape[0]).value(x.shape[1]).blocks(x.shape[0]);
  Launch sum("scaled_sum");
  sum.out(1).none().in(2).out(0).value(x.shape[0]);
  return Launches{{std::move(rows), std::move(sum)}};
}

}  // namespace

void add_pools(LaunchTable& t) {
  t["max_pool2d"] = [](const NodeView& n) { return pool(n, "max_pool", false); };
  t["avg_pool2d"] = [](const NodeView& n) { return pool(n, "avg_pool", true); };
  t["max_pool2d_grad"] = max_pool2d_grad;
  t["drop_path"] = drop_path;
  t["soft_cross_entropy"] = soft_cross_entropy;
}

}  // namespace hone::cuda
