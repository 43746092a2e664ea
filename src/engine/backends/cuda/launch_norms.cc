// Launches of norms and their gradients, and of sums over rows in a fixed order.
#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

Result<Launches> refuse(const NodeView& n) {
  return no_kernel(n, fmt::format("not for {}", name_of(n.in(0).dtype)));
}
// 32 columns for each block along x.
bool has_parts(int64_t columns) { return (columns + 31) / 32 <= 1 << 16; }

Result<Launches> layer_norm(const NodeView& n) {
  const Type& x = n.in(0);
  if (!is_fused(x.dtype)) return refuse(n);
  Launch l(kernel_of("layer_norm", x.dtype));
  l.in(0).in(1);
  n.has(2) ? l.in(2) : l.none();
  l.out(0).out(1).out(2).value(x.shape[0]).value(x.shape[1]);
  l.value(static_cast<float>(n.real("eps"))).over(x.shape[0] * kWarp);
  return one(std::move(l));
}

Result<Launches> rms_norm(const NodeView& n) {
  const Type& x = n.in(0);
  if (!is_fused(x.dtype)) return refuse(n);
  Launch l(kernel_of("rms_norm", x.dtype));
  l.in(0).in(1).out(0).out(1).value(x.shape[0]).value(x.shape[1]);
  l.value(static_cast<float>(n.real("eps"))).over(x.shape[0] * kWarp);
  return one(std::move(l));
}

// Sums over rows first, as dx may be written over dy.
Result<Launches> norm_grad(const NodeView& n, bool has_mean) {
  const Type& x = n.in(0);
  if (!is_fused(x.dtype) || !has_parts(x.shape[1])) return refuse(n);
  const int64_t rows = x.shape[0], columns = x.shape[1];
  const size_t rstd = n.slot("rstd"), dy = n.slot("dy"), dsum = n.slot("dsum");
  const auto mean = [&](Launch& l) { has_mean ? l.in(n.slot("mean")) : l.none(); };
  Launches all;
  all.workspace_bytes = row_part_bytes(rows, columns);
  const auto add = [&](size_t result) {
    Launch l(kernel_of("add_parts", x.dtype));
    l.work().none().out(result).value(row_parts_of(rows)).value(columns).over(columns);
    all.launches.push_back(std::move(l));
  };
  Launch gamma = row_part_launch(kernel_of("norm_gamma_parts", x.dtype), rows, columns);
  gamma.in(0);
  mean(gamma);
  gamma.in(rstd).in(dy).work().value(rows).value(columns);
  all.launches.push_back(std::move(gamma));
  add(1);
  if (has_mean) {
    Launch beta = row_part_launch(kernel_of("row_parts", x.dtype), rows, columns);
    beta.in(dy).work().value(rows).value(columns);
    all.launches.push_back(std::move(beta));
    add(2);
  }
  Launch dx(kernel_of("norm_grad", x.dtype));
  dx.in(0).in(1);
  mean(dx);
  dx.in(rstd).in(dy);
  n.has(dsum) ? dx.in(dsum) : dx.none();
  dx.out(0).value(rows).value(columns).over(rows * kWarp);
  all.launches.push_back(std::move(dx));
  return all;
}

Result<Launches> sum_rows(const NodeView& n) {
  const Type& x = n.in(0);
  const DType y = n.out(0).dtype;
  if (!is_fused(x.dtype) || !is_fused(y) || !has_parts(x.shape[1])) return refuse(n);
  const int64_t rows = x.shape[0], columns = x.shape[1];
  Launches all;
  all.workspace_bytes = row_part_bytes(rows, columns);
  Launch parts = row_part_launch(kernel_of("row_parts", x.dtype), rows, columns);
  parts.in(0).work().value(rows).value(columns);
  all.launches.push_back(std::move(parts));
  Launch add(kernel_of("add_parts", y));
  add.work();
  n.has(1) ? add.in(1) : add.none();
  add.out(0).value(row_parts_of(rows)).value(columns).over(columns);
  all.launches.push_back(std::move(add));
  return all;
}

}  // namespace

int64_t row_parts_of(int64_t rows) {
  constexpr int64_t kPartRows = 128, kMostParts = 64;
  return std::clamp<int64_t>((rows + kPartRows - 1) / kPartRows, 1, kMostParts);
}
int64_t row_part_bytes(int64_t rows, int64_t columns) { return row_parts_of(rows) * columns * 4; }
Launch row_part_launch(const std::string& kernel, int64_t rows, int64_t columns) {
  Launch l(kernel);
  l.blocks((columns + 31) / 32);
  l.grid_y = static_cast<unsigned>(row_parts_of(rows));
  l.block_x = 32;
  l.block_y = 8;
  return l;
}

void add_norms(LaunchTable& t) {
  t["layer_norm"] = layer_norm;
  t["rms_norm"] = rms_norm;
  t["layer_norm_grad"] = [](const NodeView& n) { return norm_grad(n, true); };
  t["rms_norm_grad"] = [](const NodeView& n) { return norm_grad(n, false); };
  t["sum_rows"] = sum_rows;
}

}  // namespace hone::cuda
