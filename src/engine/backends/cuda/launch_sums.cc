// Launches of reductions, and of sums into rows by index.
#include <algorithm>
#include <limits>

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

// Ids of more tokens have their first and last tokens found before.
constexpr int64_t kScatteredAtOnce = 8 * kBlock;

Result<Launches> scatter_add_rows(const NodeView& n) {
  const Type& t = n.out(0);
  const DType dy = n.in(1).dtype;
  if (!is_one_of(dy, {DType::f64, DType::f32}))
    return no_kernel(n, fmt::format("not for {}", name_of(dy)));
  Launches all;
  if (n.has(2)) {
    all.launches.push_back(copy_if_apart(n, 2, 0));
  } else {
    Launch zero(kernel_of_size("fill", t.dtype));
    zero.out(0).value(t.count());
    t.dtype == DType::f64 ? zero.value(uint64_t{0}) : zero.value(uint32_t{0});
    zero.mapped(t.count());
    all.launches.push_back(std::move(zero));
  }
  const int64_t tokens = n.in(0).count(), columns = t.shape[1];
  if (tokens == 0 || columns == 0) return all;
  Launch add(kernel_of("scatter_add_rows", t.dtype));
  add.in(0).in(1).out(0);
  if (tokens > kScatteredAtOnce && tokens <= std::numeric_limits<int32_t>::max()) {
    const int64_t ids = t.shape[0];
    all.workspace_bytes = 2 * ids * size_of(DType::i32);
    Launch none(kernel_of_size("fill", DType::i32));
    none.work().value(2 * ids).value(~uint32_t{0}).mapped(2 * ids);
    Launch spans("id_spans");
    spans.in(0).work().value(tokens).over(tokens);
    all.launches.push_back(std::move(none));
    all.launches.push_back(std::move(spans));
    add.work();
  } else {
    add.none();
  }
  add.value(tokens).value(columns);
  add.grid_x = static_cast<unsigned>(tokens);
  add.grid_y = static_cast<unsigned>((columns + kScattered - 1) / kScattered);
  all.launches.push_back(std::move(add));
  return all;
}

}  // namespace

void add_sums(LaunchTable& t) {
  t["reduce_sum"] = [](const NodeView& n) { return reduce(n, "reduce_sum"); };
  t["reduce_max"] = [](const NodeView& n) { return reduce(n, "reduce_max"); };
  t["scatter_add_rows"] = scatter_add_rows;
}

}  // namespace hone::cuda
