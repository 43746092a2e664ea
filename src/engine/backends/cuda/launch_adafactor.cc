// Launches of Adafactor, whose sums over rows and columns need several kernels.
#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/update_parts.h"

namespace hone::cuda {
namespace {

constexpr int64_t kMostColumnParts = 64, kLeastPartRows = 32, kMostSquareParts = 1024;

Result<Launches> adafactor(const NodeView& n) {
  const auto count = static_cast<size_t>(n.integer("count"));
  Launches all;
  size_t columns = 0;  // that were met
  const auto add = [&](Launch& l) { all.launches.push_back(std::move(l)); };
  for (size_t i = 0; i < count; ++i) {
    const Type &p = n.in(i), &g = n.in(count + i);
    if (p.dtype != DType::f32 || !is_fused(g.dtype))
      return no_kernel(n,
                       fmt::format("{} with a gradient in {}", name_of(p.dtype), name_of(g.dtype)));
    // Operands: p, g, row and column; results: p, row and column. A vector has a state in place of
    // a row.
    const bool is_factored = p.rank() >= 2;
    const size_t gradient = count + i, row = 2 * count + i, to_row = count + i;
    const size_t column = 3 * count + columns, to_column = 2 * count + columns;
    if (is_factored) ++columns;
    if (p.count() == 0) continue;
    Factored f{};
    f.rows = is_factored ? p.shape[p.shape.size() - 2] : 1;
    f.columns = is_factored ? p.shape.back() : p.count();
    f.matrices = p.count() / (f.rows * f.columns);
    f.eps = n.real("eps");
    f.clip_threshold = n.real("clip_threshold");
    f.decay_rate = n.real("decay_rate");
    f.decay = weight_decay_of(n, i);
    f.part_rows = std::max(kLeastPartRows, (f.rows + kMostColumnParts - 1) / kMostColumnParts);
    f.square_parts = std::min(f.matrices * f.rows, kMostSquareParts);
    const int64_t rows = f.matrices * f.rows, of_columns = f.matrices * f.columns;
    const int64_t parts = (f.rows + f.part_rows - 1) / f.part_rows;
    // Workspace: parts of the sum of squares, means, parts of columns.
    const int64_t means = whole_part(kMostSquareParts * 8);
    const int64_t column_parts = means + whole_part(f.matrices * 4);
    all.workspace_bytes =
        std::max(all.workspace_bytes, column_parts + (is_factored ? parts * of_columns * 4 : 0));
    const size_t step = n.slot("step"), g_scale = n.slot("g_scale");
    const auto states = [&](Launch& l) {
      is_factored ? l.out(to_row).out(to_column).work(means) : l.none().out(to_row).none();
    };
    if (is_factored) {
      Launch of_rows(kernel_of("factored_rows", g.dtype));
      of_rows.in(gradient).in(row).in(step).in(g_scale).out(to_row).value(f).over(rows * kWarp);
      add(of_rows);
      Launch some(kernel_of("factored_column_parts", g.dtype));
      some.in(gradient).in(g_scale).work(column_parts).value(f).over(of_columns);
      some.grid_y = static_cast<unsigned>(parts);
      add(some);
      Launch sums("factored_columns");
      sums.work(column_parts).in(column).in(step).in(g_scale).out(to_column).value(f);
      add(sums.over(of_columns));
      Launch mean("factored_means");
      mean.out(to_row).work(means).value(f);
      mean.grid_x = static_cast<unsigned>(f.matrices);
      add(mean);
    } else {
      Launch state(kernel_of("unfactored_states", g.dtype));
      state.in(gradient).in(row).in(step).in(g_scale).out(to_row).value(f).over(f.columns);
      add(state);
    }
    Launch squares(kernel_of("factored_squares", g.dtype));
    squares.in(gradient);
    states(squares);
    squares.in(g_scale).work().value(f).blocks(f.square_parts);
    add(squares);
    Launch update(kernel_of("factored_update", g.dtype));
    update.in(i).in(gradient);
    states(update);
    update.work().in(n.slot("lr")).in(g_scale).out(i).value(f).blocks(rows);
    add(update);
  }
  return all;
}

}  // namespace

void add_adafactor(LaunchTable& t) { t["adafactor"] = adafactor; }

}  // namespace hone::cuda
