// Launches of experts: the largest elements of rows, rows by group and their products.
#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/support.h"

namespace hone::cuda {
namespace {

constexpr int64_t kTileOfGroup = 16, kMostTiles = 65'535;

Result<Launches> top_k(const NodeView& n) {
  const Type& x = n.in(0);
  Launch l(kernel_of("top_k", x.dtype));
  l.in(0).out(0).out(1).value(x.shape[0]).value(static_cast<int>(x.shape[1]));
  l.value(static_cast<int>(n.integer("k"))).over(x.shape[0] * kWarp);
  return one(std::move(l));
}

Result<Launches> group_rows(const NodeView& n) {
  const auto groups = static_cast<int>(n.integer("groups"));
  Launch l("group_rows");
  l.in(0).out(0).out(1).out(2).out(3).value(n.in(0).count()).value(groups);
  l.value(static_cast<int>(n.integer("each")));
  l.grid_x = static_cast<unsigned>(groups + 1);
  return one(std::move(l));
}

unsigned tiles_of(int64_t count) {
  return static_cast<unsigned>((count + kTileOfGroup - 1) / kTileOfGroup);
}

Result<Launch> grouped(const NodeView& n, const Product& p, int64_t groups, int64_t rows) {
  if (groups > kMostTiles) return no_kernel(n, "more than 65,535 groups");
  Launch l(fmt::format("{}_{}_{}_{}", n.node.op->name, name_of(n.in(0).dtype),
                       name_of(n.in(1).dtype), name_of(n.out(0).dtype)));
  l.grid_x = tiles_of(p.n);
  l.grid_y = static_cast<unsigned>(std::min<int64_t>(tiles_of(rows), kMostTiles));
  l.grid_z = static_cast<unsigned>(groups);
  l.block_x = l.block_y = static_cast<unsigned>(kTileOfGroup);
  return l;
}

Product product_of_groups(const NodeView& n) {
  Product p{};
  p.round = rounded_to(n) == DType::bf16 ? 1 : rounded_to(n) == DType::f16 ? 2 : 0;
  p.act = kNoActivation;
  return p;
}

Result<Launches> grouped_matmul(const NodeView& n) {
  Product p = product_of_groups(n);
  p.m = n.in(0).shape[0];
  p.k = n.in(0).shape[1];
  p.n = n.out(0).shape[1];
  const bool trans = n.flag("trans_w");
  p.row_y = trans ? 1 : p.n;
  p.column_y = trans ? p.k : 1;
  const int64_t groups = n.in(1).shape[0];
  if (n.out(0).count() == 0) return Launches{};
  // Twice the mean: the rows of larger groups take turns.
  Launch l = HONE_TRY(grouped(n, p, groups, std::min(p.m, 2 * p.m / groups + 1)));
  l.in(0).in(1).in(2).out(0).value(p);
  return one(std::move(l));
}

Result<Launches> grouped_outer(const NodeView& n) {
  Product p = product_of_groups(n);
  p.m = n.in(0).shape[1];
  p.n = n.in(1).shape[1];
  if (n.has("acc") && n.in("acc").dtype != n.out(0).dtype)
    return no_kernel(n, fmt::format("an accumulator in {}", name_of(n.in("acc").dtype)));
  if (n.out(0).count() == 0) return Launches{};
  Launch l = HONE_TRY(grouped(n, p, n.out(0).shape[0], p.m));
  l.in(0).in(1).in(2);
  n.has("acc") ? l.in(n.slot("acc")) : l.none();
  l.out(0).value(p);
  return one(std::move(l));
}

}  // namespace

void add_groups(LaunchTable& t) {
  t["top_k"] = top_k;
  t["group_rows"] = group_rows;
  t["grouped_matmul"] = grouped_matmul;
  t["grouped_outer"] = grouped_outer;
}

}  // namespace hone::cuda
