// Launches of batch norms and of what is computed by column of a matrix.
#include <bit>

#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

// Blocks that fill a large GPU; those with sums have as many parts. Their number depends on shapes alone.
constexpr int64_t kWantedParts = 1056, kLeastTurns = 4;
constexpr int kMostLanes = 64;

Result<Launches> refuse_columns(const NodeView& n) {
  return no_kernel(n, fmt::format("not for {}", n.in(0).text()));
}
// `rows`: the type of y or dy.
bool has_columns(const NodeView& n, DType rows) {
  const Type& x = n.in(0);
  const bool fits = rows == x.dtype || rows == DType::f32 || x.dtype == DType::f32;
  return is_fused(x.dtype) && is_fused(rows) && fits && x.count() > 0 &&
         x.shape[1] <= (int64_t{1} << 24);
}
std::string kernel_of_rows(const char* name, const NodeView& n, DType rows) {
  return kernel_of(kernel_of(name, n.in(0).dtype), rows);
}

struct ColumnBlocks {
  ByColumn columns{};
  int64_t across = 1, parts = 1;

  explicit ColumnBlocks(const NodeView& n) {
    const Shape& s = n.in(0).shape;
    const int64_t packs = (s[1] + kSummedColumns - 1) / kSummedColumns;
    columns.rows = s[0];
    columns.columns = s[1];
    columns.lanes = static_cast<int>(
        std::min<int64_t>(std::bit_ceil(static_cast<uint64_t>(packs)), kMostLanes));
    across = (packs + columns.lanes - 1) / columns.lanes;
    const int64_t turn = kBlock / columns.lanes * kLeastTurns;  // rows
    parts = std::clamp<int64_t>((s[0] + turn - 1) / turn, 1,
                                std::max<int64_t>(kWantedParts / across, 1));
  }
  Launch launch(const std::string& kernel) const {
    Launch l(kernel);
    l.grid_x = static_cast<unsigned>(across);
    l.grid_y = static_cast<unsigned>(parts);
    return l;
  }
};

void optional_in(Launch& l, const NodeView& n, const char* name) {
  n.has(name) ? l.in(n.slot(name)) : l.none();
}

// The mean and the variance of the columns, as results `mean` and the next.
void add_moments(Launches& all, const NodeView& n, const ColumnBlocks& b, size_t mean) {
  constexpr int64_t kMomentBytes = 12;
  all.workspace_bytes = b.parts * b.columns.columns * kMomentBytes;
  Launch parts = b.launch(kernel_of("moment_parts", n.in(0).dtype));
  parts.in(0);
  optional_in(parts, n, "rows");
  parts.work().value(b.columns);
  Launch join("join_moments");
  join.work().out(mean).out(mean + 1).value(b.parts).value(b.columns.columns);
  join.blocks((b.columns.columns + kWarp - 1) / kWarp);
  all.launches.push_back(std::move(parts));
  all.launches.push_back(std::move(join));
}

Result<Launches> column_moments(const NodeView& n) {
  if (!has_columns(n, n.in(0).dtype)) return refuse_columns(n);
  Launches all;
  add_moments(all, n, ColumnBlocks(n), 0);
  return all;
}

Result<Launches> batch_norm(const NodeView& n) {
  const DType y = n.out(0).dtype;
  if (!has_columns(n, y)) return refuse_columns(n);
  ColumnBlocks b(n);
  b.columns.eps = static_cast<float>(n.real("eps"));
  b.columns.relu = n.flag("relu");
  b.columns.gamma = element_of(n.in(1).dtype);
  const bool given = n.has("mean");
  Launches all;
  if (!given) add_moments(all, n, b, 1);
  Launch l = b.launch(kernel_of_rows("batch_norm", n, y));
  l.in(0).in(1).in(2);
  if (given)
    l.in(n.slot("mean")).in(n.slot("variance"));
  else
    l.out(1).out(2);
  optional_in(l, n, "residual");
  l.out(0);
  if (given)
    l.out(1).out(2);
  else
    l.none().none();
  all.launches.push_back(std::move(l.value(b.columns)));
  return all;
}

// dgamma and dbeta, as results `dgamma` and the next.
void add_gradient_sums(Launches& all, const NodeView& n, const ColumnBlocks& b, size_t dgamma) {
  all.workspace_bytes = b.parts * 2 * b.columns.columns * 4;
  Launch parts = b.launch(kernel_of_rows("batch_norm_parts", n, n.in("dy").dtype));
  parts.in(0).in(n.slot("mean")).in(n.slot("variance")).in(n.slot("dy"));
  optional_in(parts, n, "rows");
  optional_in(parts, n, "y");
  parts.work().value(b.columns);
  Launch add("add_column_parts");
  add.work()
      .out(dgamma)
      .out(dgamma + 1)
      .value(element_of(n.out(dgamma).dtype))
      .value(b.parts)
      .value(b.columns.columns);
  add.blocks((2 * b.columns.columns + kWarp - 1) / kWarp);
  all.launches.push_back(std::move(parts));
  all.launches.push_back(std::move(add));
}

Result<Launches> batch_norm_sums(const NodeView& n) {
  if (!has_columns(n, n.in("dy").dtype)) return refuse_columns(n);
  ColumnBlocks b(n);
  b.columns.eps = static_cast<float>(n.real("eps"));
  Launches all;
  add_gradient_sums(all, n, b, 0);
  return all;
}

Result<Launches> batch_norm_grad(const NodeView& n) {
  const DType dy = n.in("dy").dtype;
  if (!has_columns(n, dy)) return refuse_columns(n);
  ColumnBlocks b(n);
  b.columns.eps = static_cast<float>(n.real("eps"));
  const bool given = n.has("dgamma");
  b.columns.gamma = element_of(n.in(1).dtype);
  b.columns.sums = given ? element_of(n.in("dgamma").dtype) : b.columns.gamma;
  Launches all;
  if (!given) add_gradient_sums(all, n, b, 1);
  Launch l = b.launch(kernel_of_rows("batch_norm_grad", n, dy));
  l.in(0).in(1).in(n.slot("mean")).in(n.slot("variance")).in(n.slot("dy"));
  optional_in(l, n, "rows");
  optional_in(l, n, "y");
  if (given)
    l.in(n.slot("dgamma")).in(n.slot("dbeta")).in(n.slot("count"));
  else
    l.out(1).out(2).none();
  l.out(0);
  n.flag("dresidual") ? l.out(3) : l.none();
  if (given)
    l.out(1).out(2);
  else
    l.none().none();
  all.launches.push_back(std::move(l.value(b.columns)));
  return all;
}

Result<Launches> affine_channels(const NodeView& n) {
  const DType y = n.out(0).dtype;
  if (!has_columns(n, y)) return refuse_columns(n);
  ColumnBlocks b(n);
  b.columns.gamma = element_of(n.in(1).dtype);
  Launch l = b.launch(kernel_of_rows("affine_channels", n, y));
  l.in(0).in(1);
  optional_in(l, n, "shift");
  return one(std::move(l.out(0).value(b.columns)));
}

}  // namespace

void add_columns(LaunchTable& t) {
  t["column_moments"] = column_moments;
  t["batch_norm"] = batch_norm;
  t["batch_norm_sums"] = batch_norm_sums;
  t["batch_norm_grad"] = batch_norm_grad;
  t["affine_channels"] = affine_channels;
}

}  // namespace hone::cuda
