// Launches of the loss over a vocabulary, in chunks of rows. Logits in 16 bits have padded rows and
// become their gradient in place.
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

// The same for logits in 16 bits: parts of nearly equal size, of at least 2,048 rows where those take
// no more than 512 MiB.
int64_t narrow_chunk_of(int64_t rows, int64_t step) {
  constexpr int64_t kUsual = 256 << 20, kMost = 512 << 20, kRows = 2048;
  const int64_t most =
      std::max<int64_t>({kUsual / (2 * step), std::min(kMost / (2 * step), kRows), int64_t{64}});
  const int64_t chunks = (rows + most - 1) / most;
  return std::min(rows, ((rows + chunks - 1) / chunks + 63) / 64 * 64);
}

// Places of the gradients among the results; 0: not asked for.
struct HeadGradients {
  size_t dw = 0, dx = 0, dbias = 0;
  explicit HeadGradients(const NodeView& n) {
    size_t results = 3;
    for (const auto& [flag, place] :
         {std::pair("dw", &dw), std::pair("dx", &dx), std::pair("dbias", &dbias)})
      if (n.flag(flag)) *place = results++;
  }
  bool any() const { return dw + dx + dbias > 0; }
};

// The loss of `count` rows from `first`: logits at `logits` in the workspace, their gradient at `d` (null: none).
Launch loss_launch(const NodeView& n, DType logits_type, DType d_type, int64_t logits,
                   const LaunchArgument& d, Entropy e, int64_t first,
                   const LaunchOptions& options) {
  // A row stays in shared memory between the two passes: GPUs from sm_80 on give a block 99 KiB, of which sums
  // need a part.
  constexpr int64_t kMostBytes = (99 << 10) - 512;
  const int64_t row_bytes = e.step * size_of(logits_type);
  e.smoothing = static_cast<float>(n.real("smoothing"));
  e.bias = n.has("bias") ? element_of(n.in("bias").dtype) : Element::f32;
  e.keeps_row = options.tensor_cores && row_bytes <= kMostBytes;
  Launch l(fmt::format("cross_entropy_{}_{}", name_of(logits_type), name_of(d_type)));
  l.blocks(e.rows);
  l.block_x = kRowThreads;
  if (e.keeps_row) l.shared_bytes = static_cast<int>(row_bytes);
  l.work(logits);
  n.has("bias") ? l.in(n.slot("bias")) : l.none();
  l.in(n.slot("labels"), first * 4).in(n.slot("scale"));
  n.has("weights") ? l.in(n.slot("weights"), first * 4) : l.none();
  l.out(1, first * 4).out(2, first * 4);
  return std::move(l.argument(d).value(e));
}

// The loss of all rows.
Launch sum_launch(const NodeView& n, int64_t rows) {
  Launch total("scaled_sum");
  total.out(1);
  n.has("weights") ? total.in(n.slot("weights")) : total.none();
  return std::move(total.in(n.slot("scale")).out(0).value(rows));
}

// Operands of the products with logits in 16 bits: W with `step` rows, of which the last are zeros,
// and x, both in the type that they are rounded to and with rows of `inner_step` elements.
struct NarrowHead {
  DType t;
  int64_t rows, inner, columns, inner_step = 0, step = 0;
  LaunchArgument x = {}, w = {};
};

Result<NarrowHead> narrow_head(Launches& all, const NodeView& n) {
  const Type &x = n.in("x"), &w = n.in("w");
  NarrowHead h{.t = rounded_to(n), .rows = x.shape[0], .inner = x.shape[1], .columns = w.shape[0]};
  h.inner_step = padded_row(h.inner);
  h.step = padded_row(h.columns);
  if (name_of(h.t) != n.text("logits")) return no_kernel(n, "logits in a type of their own");
  const bool in_blocks = !n.text("scheme").empty();
  h.x = LaunchArgument::input(n.slot("x"));
  h.w = LaunchArgument::input(n.slot("w"));
  DType of_w = w.dtype;
  if (in_blocks) {
    of_w = HONE_TRY(add_widened(all, n, DType::f32, h.t));
    h.w = LaunchArgument::work();
  }
  const auto as_operand = [&](LaunchArgument& a, DType from, int64_t rows, int64_t out_rows) {
    if (from == h.t && rows == out_rows && h.inner == h.inner_step) return;
    const LaunchArgument to = LaunchArgument::work(all.workspace_bytes);
    all.workspace_bytes += whole_part(out_rows * h.inner_step * size_of(h.t));
    all.launches.push_back(pad_launch(from, h.t, a, to, rows, h.inner, out_rows, h.inner_step));
    a = to;
  };
  for (const DType from : {x.dtype, of_w})
    if (from != h.t && from != DType::f32)
      return no_kernel(n, fmt::format("an operand in {}", name_of(from)));
  as_operand(h.w, of_w, h.columns, h.step);
  as_operand(h.x, x.dtype, h.rows, h.rows);
  return h;
}

LaunchArgument rows_from(LaunchArgument a, int64_t bytes) {
  a.offset += bytes;
  return a;
}

// Adds the parts of sums over rows onto what there is, or nothing.
void add_row_sums(Launches& all, int64_t parts, const LaunchArgument& to, bool onto, int64_t rows,
                  int64_t columns) {
  Launch sum("add_parts_f32");
  sum.work(parts);
  onto ? sum.argument(to) : sum.none();
  sum.argument(to).value(row_parts_of(rows)).value(columns).over(columns);
  all.launches.push_back(std::move(sum));
}

Result<Launches> in_place(const NodeView& n, const LaunchOptions& options) {
  Launches all;
  const NarrowHead h = HONE_TRY(narrow_head(all, n));
  const HeadGradients g(n);
  if (h.rows == 0 || h.inner == 0 || h.columns == 0) return no_kernel(n, "nothing to sum");
  const int64_t chunk = narrow_chunk_of(h.rows, h.step), logits = all.workspace_bytes,
                parts = logits + whole_part(chunk * h.step * size_of(h.t));
  all.workspace_bytes = parts + (g.dbias == 0 ? 0 : whole_part(row_part_bytes(chunk, h.columns)));
  const auto multiply = [&](ProductForm f, const ProductArguments& a) {
    f.x = f.y = f.rounded = h.t;
    add_product(all, f, a, options);
  };
  for (int64_t first = 0; first < h.rows; first += chunk) {
    const int64_t count = std::min(chunk, h.rows - first);
    const LaunchArgument x = rows_from(h.x, first * h.inner_step * size_of(h.t)),
                         d = LaunchArgument::work(logits);
    multiply({.z = h.t,
              .m = count,
              .n = h.step,
              .k = h.inner,
              .trans_y = true,
              .step_x = h.inner_step,
              .step_y = h.inner_step},
             {.x = x, .y = h.w, .z = d});
    const Entropy e{.rows = count, .columns = h.columns, .step = h.step, .has_gradients = g.any()};
    all.launches.push_back(loss_launch(n, h.t, h.t, logits, d, e, first, options));
    if (g.dw != 0) {
      const LaunchArgument sum = LaunchArgument::output(g.dw);
      ProductArguments a{.x = d, .y = x, .z = sum};
      if (first > 0)
        a.onto = sum;
      else if (n.has("dw_acc"))
        a.onto = LaunchArgument::input(n.slot("dw_acc"));
      multiply({.z = DType::f32,
                .m = h.columns,
                .n = h.inner,
                .k = count,
                .trans_x = true,
                .step_x = h.step,
                .step_y = h.inner_step},
               a);
    }
    if (g.dx != 0) {
      const DType z = n.out(g.dx).dtype;
      multiply(
          {.z = z, .m = count, .n = h.inner, .k = h.step, .step_x = h.step, .step_y = h.inner_step},
          {.x = d, .y = h.w, .z = LaunchArgument::output(g.dx, first * h.inner * size_of(z))});
    }
    if (g.dbias == 0) continue;
    Launch l = row_part_launch(kernel_of("logit_parts", h.t), count, h.columns);
    l.work(logits).work(parts).value(count).value(h.columns).value(h.step);
    all.launches.push_back(std::move(l));
    add_row_sums(all, parts, LaunchArgument::output(g.dbias), first > 0, count, h.columns);
  }
  all.launches.push_back(sum_launch(n, h.rows));
  return all;
}

Result<Launches> linear_cross_entropy(const NodeView& n, const LaunchOptions& options) {
  if (n.real("softcap") > 0) return no_kernel(n, "with a softcap");
  if (!n.text("logits").empty()) return in_place(n, options);
  const Type &x = n.in("x"), &w = n.in("w");
  const DType t = x.dtype;
  const bool in_blocks = !n.text("scheme").empty();
  if (!is_fused(t)) return no_kernel(n, fmt::format("not for {}", name_of(t)));
  const bool is_kept_rounded = t != DType::f32 && rounded_to(n) == t;
  if (is_kept_rounded || (!n.text("as").empty() && n.text("as") != name_of(t)))
    return no_kernel(n, "operands or results in 16 bits beside logits in f32");
  if (w.dtype != t && !in_blocks && rounded_to(n) == DType::f32)
    return no_kernel(n, fmt::format("{} with a weight in {}", name_of(t), name_of(w.dtype)));
  const int64_t rows = x.shape[0], inner = x.shape[1], columns = w.shape[0];
  if (rows == 0 || inner == 0 || columns == 0) return no_kernel(n, "nothing to sum");
  const int64_t chunk = chunk_of(rows, columns), bytes = size_of(t);
  const HeadGradients gradients(n);
  const size_t dw = gradients.dw, dx = gradients.dx, dbias = gradients.dbias;
  const bool has_gradients = gradients.any(), is_narrow = t != DType::f32;

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
    const Entropy e{
        .rows = count, .columns = columns, .step = columns, .has_gradients = has_gradients};
    Launch loss = loss_launch(n, DType::f32, t, logits,
                              has_gradients ? LaunchArgument::work(d) : LaunchArgument::null(), e,
                              first, options);
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
      add_row_sums(all, parts,
                   is_narrow ? LaunchArgument::work(sums_bias) : LaunchArgument::output(dbias),
                   first > 0, count, columns);
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
  all.launches.push_back(sum_launch(n, rows));
  return all;
}

}  // namespace

void add_cross_entropy(LaunchTable& t, const LaunchOptions& options) {
  t["linear_cross_entropy"] = [options](const NodeView& n) {
    return linear_cross_entropy(n, options);
  };
}

}  // namespace hone::cuda
