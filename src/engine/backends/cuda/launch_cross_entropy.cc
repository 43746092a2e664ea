// Launches of the loss over a vocabulary, in chunks of rows.
#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/support.h"

namespace hone::cuda {
namespace {

constexpr int64_t kLogitBytes = 64 << 20;  // of f32 that are held at once, about

// Rows of logits that are held at once; it depends on the shapes alone, so bits do too.
int64_t chunk_of(int64_t rows, int64_t columns) {
  const int64_t fit = kLogitBytes / (4 * std::max<int64_t>(columns, 1));
  return std::min(rows, std::clamp<int64_t>(fit / 64 * 64, 64, 1024));
}

Result<Launches> linear_cross_entropy(const NodeView& n, const LaunchOptions& options) {
  const Type &x = n.in("x"), &w = n.in("w");
  const DType t = x.dtype;
  const bool in_blocks = !n.text("scheme").empty();
  if (!is_fused(t)) return no_kernel(n, fmt::format("not for {}", name_of(t)));
  if (w.dtype != t && !in_blocks && rounded_to(n) == DType::f32)
    return no_kernel(n, fmt::format("{} with a weight in {}", name_of(t), name_of(w.dtype)));
  const int64_t rows = x.shape[0], inner = x.shape[1], columns = w.shape[0];
  if (rows == 0 || inner == 0 || columns == 0) return no_kernel(n, "nothing to sum");
  const int64_t chunk = chunk_of(rows, columns), bytes = size_of(t);
  size_t results = 3;
  const auto place_of = [&](const char* gradient) {
    return n.flag(gradient) ? results++ : size_t{0};
  };
  const size_t dw = place_of("dw"), dx = place_of("dx"), dbias = place_of("dbias");
  const bool has_gradients = dw + dx + dbias > 0, is_narrow = t != DType::f32;

  // Workspace: logits and their gradient (in place for f32), sums in f32 for gradients that are
  // kept in fewer bits, parts of sums over rows.
  const DType rounded = rounded_to(n);
  Launches all;
  const DType of_w = in_blocks ? HONE_TRY(add_widened(all, n, t, rounded)) : w.dtype;
  const LaunchArgument weight =
      in_blocks ? LaunchArgument::work() : LaunchArgument::input(n.slot("w"));
  int64_t end = all.workspace_bytes;
  const auto take = [&](bool wanted, int64_t size) {
    const int64_t at = end;
    if (wanted) end += whole_part(size);
    return at;
  };
  const int64_t logits = take(true, chunk * columns * 4);
  const int64_t own_d = take(has_gradients && is_narrow, chunk * columns * bytes);
  const int64_t d = is_narrow ? own_d : logits;
  const int64_t sums_w = take(dw != 0 && is_narrow, columns * inner * 4);
  const int64_t sums_bias = take(dbias != 0 && is_narrow, columns * 4);
  const int64_t parts = take(dbias != 0, row_part_bytes(chunk, columns));
  all.workspace_bytes = end;
  const auto add = [&](Launch& l) { all.launches.push_back(std::move(l)); };
  const auto multiply = [&](ProductForm f, const ProductArguments& a) {
    f.rounded = rounded;
    add_product(all, f, a, options);
  };

  for (int64_t first = 0; first < rows; first += chunk) {
    const int64_t count = std::min(chunk, rows - first);
    const LaunchArgument x_rows = LaunchArgument::input(0, first * inner * bytes);
    multiply(
        {.x = t, .y = of_w, .z = DType::f32, .m = count, .n = columns, .k = inner, .trans_y = true},
        {.x = x_rows, .y = weight, .z = LaunchArgument::work(logits)});
    Launch loss(kernel_of("cross_entropy", t));
    loss.work(logits);
    n.has("bias") ? loss.in(n.slot("bias")) : loss.none();
    loss.in(n.slot("labels"), first * 4).in(n.slot("scale"));
    loss.out(1, first * 4).out(2, first * 4);
    has_gradients ? loss.work(d) : loss.none();
    loss.value(count).value(columns).value(static_cast<float>(n.real("smoothing"))).blocks(count);
    add(loss);
    if (dw != 0) {
      const LaunchArgument sum =
          is_narrow ? LaunchArgument::work(sums_w) : LaunchArgument::output(dw);
      ProductArguments a{.x = LaunchArgument::work(d), .y = x_rows, .z = sum};
      if (first > 0)
        a.onto = sum;
      else if (n.has("dw_acc") && !is_narrow)
        a.onto = LaunchArgument::input(n.slot("dw_acc"));
      multiply(
          {.x = t, .y = t, .z = DType::f32, .m = columns, .n = inner, .k = count, .trans_x = true},
          a);
    }
    if (dx != 0)
      multiply({.x = t, .y = of_w, .z = t, .m = count, .n = inner, .k = columns},
               {.x = LaunchArgument::work(d),
                .y = weight,
                .z = LaunchArgument::output(dx, first * inner * bytes)});
    if (dbias != 0) {
      Launch l = row_part_launch(kernel_of("row_parts", t), count, columns);
      l.work(d).work(parts).value(count).value(columns);
      add(l);
      Launch sum("add_parts_f32");
      sum.work(parts);
      const auto onto = [&] { is_narrow ? sum.work(sums_bias) : sum.out(dbias); };
      first > 0 ? onto() : static_cast<void>(sum.none());
      onto();
      sum.value(row_parts_of(count)).value(columns).over(columns);
      add(sum);
    }
  }
  const auto narrow = [&](int64_t sums, size_t result, const char* onto, int64_t size) {
    Launch l(kernel_of("add_parts", t));
    l.work(sums);
    onto != nullptr&& n.has(onto) ? l.in(n.slot(onto)) : l.none();
    l.out(result).value(int64_t{1}).value(size).over(size);
    add(l);
  };
  if (dw != 0 && is_narrow) narrow(sums_w, dw, "dw_acc", columns * inner);
  if (dbias != 0 && is_narrow) narrow(sums_bias, dbias, nullptr, columns);
  Launch total("scaled_sum");
  total.out(1).in(n.slot("scale")).out(0).value(rows);
  add(total);
  return all;
}

}  // namespace

void add_cross_entropy(LaunchTable& t, const LaunchOptions& options) {
  t["linear_cross_entropy"] = [options](const NodeView& n) {
    return linear_cross_entropy(n, options);
  };
}

}  // namespace hone::cuda
