#include <algorithm>

#include "engine/backends/cuda/kernels/arguments.h"
#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

Result<Launches> reduce(const NodeView& n, const std::string& name) {
  const Type &x = n.in(0), &y = n.out(0);
  if (!is_float(x.dtype) && !is_one_of(x.dtype, {DType::i64, DType::i32}))
    return no_kernel(n, fmt::format("not for {}", name_of(x.dtype)));
  if (x.rank() > 8) return no_kernel(n, "more than eight dimensions");
  const std::vector<int64_t>& axes = n.integers("axes");
  const std::vector<int64_t> own = strides_of(x.shape);
  Strided kept, gone;
  int64_t inner = 1;
  for (size_t d = 0; d < x.shape.size(); ++d) {
    const bool goes = std::find(axes.begin(), axes.end(), static_cast<int64_t>(d)) != axes.end();
    Strided& s = goes ? gone : kept;
    s.size[s.rank] = x.shape[d];
    s.stride[s.rank++] = own[d];
    if (goes) inner *= x.shape[d];
  }
  Launch l(kernel_of(name, x.dtype));
  l.in(0).out(0).value(y.count()).value(kept).value(gone).value(inner).blocks(y.count());
  return one(std::move(l));
}

constexpr unsigned kTile = 16, kMostRows = 65'535;

Result<Launches> matmul(const NodeView& n) {
  const Shape &s = n.out(0).shape, &x = n.in(0).shape;
  const bool tx = n.flag("trans_x"), ty = n.flag("trans_y");
  Product p{};
  p.m = s[s.size() - 2];
  p.n = s[s.size() - 1];
  p.k = x[x.size() - (tx ? 2 : 1)];
  p.row_x = tx ? 1 : p.k;
  p.column_x = tx ? p.m : 1;
  p.row_y = ty ? 1 : p.n;
  p.column_y = ty ? p.k : 1;
  p.round = n.flag("bf16") ? 1 : n.flag("f16") ? 2 : 0;
  const int64_t batches = p.m * p.n == 0 ? 0 : n.out(0).count() / (p.m * p.n);
  if (batches == 0) return Launches{};
  if (batches > kMostRows) return no_kernel(n, "more than 65,535 matrices");
  const auto tiles = [](int64_t count) { return (count + kTile - 1) / kTile; };
  Launch l(fmt::format("matmul_{}_{}_{}", name_of(n.in(0).dtype), name_of(n.in(1).dtype),
                       name_of(n.out(0).dtype)));
  l.in(0).in(1);
  n.has(2) ? l.in(2) : l.none();
  l.out(0).value(p).blocks(tiles(p.n));
  l.grid_y = static_cast<unsigned>(std::min<int64_t>(tiles(p.m), kMostRows));
  l.grid_z = static_cast<unsigned>(batches);
  l.block_x = l.block_y = kTile;
  return one(std::move(l));
}

Result<Launches> scatter_add_rows(const NodeView& n) {
  const Type& t = n.out(0);
  if (!is_one_of(t.dtype, {DType::f64, DType::f32}))
    return no_kernel(n, fmt::format("not for {}", name_of(t.dtype)));
  Launches all;
  if (n.has(2)) {  // a no-op where it is written in place
    Strided same;
    same.rank = 1;
    same.size[0] = t.count();
    same.stride[0] = 1;
    Launch copy(kernel_of_size("move", t.dtype));
    copy.in(2).out(0).value(t.count()).value(same).over(t.count());
    all.launches.push_back(std::move(copy));
  } else {
    Launch zero(kernel_of_size("fill", t.dtype));
    zero.out(0).value(t.count());
    t.dtype == DType::f64 ? zero.value(uint64_t{0}) : zero.value(uint32_t{0});
    zero.over(t.count());
    all.launches.push_back(std::move(zero));
  }
  Launch add(kernel_of("scatter_add_rows", t.dtype));
  add.in(0).in(1).out(0).value(n.in(0).count()).value(t.shape[1]).over(t.shape[1]);
  all.launches.push_back(std::move(add));
  return all;
}

}  // namespace

void add_sums(LaunchTable& t) {
  t["reduce_sum"] = [](const NodeView& n) { return reduce(n, "reduce_sum"); };
  t["reduce_max"] = [](const NodeView& n) { return reduce(n, "reduce_max"); };
  t["matmul"] = matmul;
  t["scatter_add_rows"] = scatter_add_rows;
}

}  // namespace hone::cuda
