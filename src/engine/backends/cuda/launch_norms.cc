// Launches of norms and their gradients, and of sums over rows in a fixed order.
#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

// Parts of a norm's parameters: a block for each multiprocessor of an H100, with as many rows as have threads, or three of
// a row that is wider than that. Each part is written and read once more.
constexpr int64_t kMostNormParts = 132, kMostWideParts = 396;

Result<Launches> refuse(const NodeView& n) {
  return no_kernel(n, fmt::format("not for {}", name_of(n.in(0).dtype)));
}

// Eights of columns in a thread, threads of a row, rows of a block. `most`: the eights if one is not enough.
struct NormBlock {
  int64_t each, threads, rows;
};
NormBlock block_of(int64_t columns, int64_t most, int64_t block_threads) {
  const int64_t eights = (columns + kNormed - 1) / kNormed, each = eights > kRowThreads ? most : 1;
  const int64_t warps = ((eights + each - 1) / each + kWarp - 1) / kWarp;
  const int64_t threads = std::clamp<int64_t>(warps * kWarp, kWarp, kRowThreads);
  return {each, threads, std::clamp<int64_t>(block_threads / threads, 1, kMostNormRows)};
}
bool fits(const NormBlock& b, int64_t columns) { return columns <= b.each * b.threads * kNormed; }
void set_block(Launch& l, const NormBlock& b) {
  l.block_x = static_cast<unsigned>(b.threads);
  l.block_y = static_cast<unsigned>(b.rows);
}

Norm norm_of(const NodeView& n, bool is_layer) {
  const Type& x = n.in(0);
  Norm all{};
  all.rows = x.shape[0];
  all.columns = static_cast<int>(x.shape[1]);
  all.is_layer = is_layer;
  all.x = element_of(x.dtype);
  all.gamma = element_of(n.in(1).dtype);
  return all;
}
bool has_norm(const NodeView& n) {
  const Type& x = n.in(0);
  return is_fused(x.dtype) && is_fused(n.out(0).dtype) && x.count() > 0 &&
         x.shape[1] <= 0x7fffffff / 2;
}

// Operands x, gamma, beta?; results y, mean (of layer_norm), rstd.
Result<Launches> norm(const NodeView& n, bool is_layer) {
  const NormBlock block = block_of(n.in(0).shape[1], 4, kBlock);
  if (!has_norm(n) || !fits(block, n.in(0).shape[1])) return refuse(n);
  Norm all = norm_of(n, is_layer);
  all.eps = static_cast<float>(n.real("eps"));
  all.y = element_of(n.out(0).dtype);
  all.has_beta = is_layer && n.has(2);
  Launch l(fmt::format("norm_{}", block.each));
  l.in(0).in(1);
  all.has_beta ? l.in(2) : l.none();
  l.out(0);
  is_layer ? l.out(1) : l.none();
  l.out(is_layer ? 2 : 1).value(all);
  constexpr int64_t kMostBlocks = 2048;  // each goes over several rows with its gamma and beta
  l.blocks(std::min((all.rows + block.rows - 1) / block.rows, kMostBlocks));
  set_block(l, block);
  return one(std::move(l));
}

// dx and parts of dgamma, of dbeta and of the sums of dx, then their sums.
Result<Launches> norm_grad(const NodeView& n, bool is_layer) {
  const size_t rstd = n.slot("rstd"), dy = n.slot("dy"), dsum = n.slot("dsum");
  if (!has_norm(n)) return refuse(n);
  NormBlock block = block_of(n.in(0).shape[1], 2, kRowThreads);
  const bool is_wide = !fits(block, n.in(0).shape[1]);
  if (is_wide) block = {1, kRowThreads, 1};
  Norm all = norm_of(n, is_layer);
  all.y = element_of(n.in(dy).dtype);
  all.dx = element_of(n.out(0).dtype);
  if (n.has(dsum)) all.dsum = element_of(n.in(dsum).dtype);
  const bool sums_dx = is_layer && n.flag("sums"), remade = n.flag("remade");
  const bool has_beta = is_layer && n.has("beta");
  const size_t made_results = is_layer ? 3 : 2, sums_result = made_results + (remade ? 1 : 0);
  all.has_sums = sums_dx && !is_wide && block.each == 1;
  const int64_t parts =
      std::min((all.rows + block.rows - 1) / block.rows, is_wide ? kMostWideParts : kMostNormParts);
  const int64_t sums_of_part = (all.has_sums ? 3 : 2) * int64_t{all.columns};
  Launches made;
  made.workspace_bytes = parts * sums_of_part * 4;
  Launch dx(all.has_sums ? "norm_grad_sums"
            : is_wide    ? "norm_grad_wide"
                         : fmt::format("norm_grad_{}", block.each));
  dx.in(0).in(1);
  is_layer ? dx.in(n.slot("mean")) : dx.none();
  dx.in(rstd).in(dy);
  n.has(dsum) ? dx.in(dsum) : dx.none();
  dx.out(0);
  has_beta ? dx.in(n.slot("beta")) : dx.none();
  const bool makes_again = block.each == 1 && !is_wide;
  remade&& makes_again ? dx.out(made_results) : dx.none();
  dx.work().value(all).blocks(parts);
  set_block(dx, block);
  if (remade && !makes_again) {  // before dx, which may be written over dy
    Launch again("norm_again");
    again.in(0).in(1);
    is_layer ? again.in(n.slot("mean")) : again.none();
    again.in(rstd);
    has_beta ? again.in(n.slot("beta")) : again.none();
    made.launches.push_back(std::move(again.out(made_results).value(all).blocks(all.rows)));
  }
  made.launches.push_back(std::move(dx));
  Launch sums("add_norm_parts");
  sums.work().out(1);
  is_layer ? sums.out(2) : sums.none();
  all.has_sums ? sums.out(sums_result) : sums.none();
  sums.value(parts).value(all).blocks((sums_of_part + kWarp - 1) / kWarp);
  made.launches.push_back(std::move(sums));
  if (sums_dx && !all.has_sums) {  // rows that no thread keeps
    if (!has_row_parts(all.columns)) return refuse(n);
    append_row_sums(made, n.out(0), LaunchArgument::output(0), LaunchArgument::null(), DType::f32,
                    LaunchArgument::output(sums_result));
  }
  return made;
}

Result<Launches> sum_rows(const NodeView& n) {
  const Type& x = n.in(0);
  const DType y = n.out(0).dtype;
  if (!is_fused(x.dtype) || !is_fused(y) || !has_row_parts(x.shape[1])) return refuse(n);
  Launches all;
  append_row_sums(all, x, LaunchArgument::input(0),
                  n.has(1) ? LaunchArgument::input(1) : LaunchArgument::null(), y,
                  LaunchArgument::output(0));
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
  l.blocks((columns + 32 * kSummedColumns - 1) / (32 * kSummedColumns));
  l.grid_y = static_cast<unsigned>(row_parts_of(rows));
  l.block_x = 32;
  l.block_y = 8;
  return l;
}

Launch add_parts_launch(DType to, const LaunchArgument& onto, const LaunchArgument& out,
                        int64_t rows, int64_t columns) {
  Launch add(kernel_of("add_parts", to));
  add.work().argument(onto).argument(out).value(row_parts_of(rows)).value(columns);
  add.blocks((columns + kWarp - 1) / kWarp);
  return add;
}
void append_row_sums(Launches& all, const Type& type, const LaunchArgument& x,
                     const LaunchArgument& onto, DType to, const LaunchArgument& out) {
  const int64_t rows = type.shape[0], columns = type.shape[1];
  all.workspace_bytes = std::max(all.workspace_bytes, row_part_bytes(rows, columns));
  Launch parts = row_part_launch(kernel_of("row_parts", type.dtype), rows, columns);
  parts.argument(x).work().value(rows).value(columns);
  all.launches.push_back(std::move(parts));
  all.launches.push_back(add_parts_launch(to, onto, out, rows, columns));
}

// 128 columns for each block along x.
bool has_row_parts(int64_t columns) { return columns / (32 * kSummedColumns) < 1 << 16; }

void add_norms(LaunchTable& t) {
  t["layer_norm"] = [](const NodeView& n) { return norm(n, true); };
  t["rms_norm"] = [](const NodeView& n) { return norm(n, false); };
  t["layer_norm_grad"] = [](const NodeView& n) { return norm_grad(n, true); };
  t["rms_norm_grad"] = [](const NodeView& n) { return norm_grad(n, false); };
  t["sum_rows"] = sum_rows;
}

}  // namespace hone::cuda
