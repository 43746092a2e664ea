#include "engine/backends/cuda/kernels/arguments.h"
#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {

namespace {

constexpr unsigned kTile = 16, kMostRows = 65'535;

Result<Launches> matmul(const NodeView& n) {
  const Shape &s = n.out(0).shape, &x = n.in(0).shape;
  const bool tx = n.flag("trans_x"), ty = n.flag("trans_y");
  const int64_t rows = s[s.size() - 2], columns = s[s.size() - 1],
                inner = x[x.size() - (tx ? 2 : 1)];
  const int64_t batches = rows * columns == 0 ? 0 : n.out(0).count() / (rows * columns);
  if (batches == 0) return Launches{};
  if (batches > kMostRows) return no_kernel(n, "more than 65,535 matrices");
  const Product p = product_of(n, rows, inner, columns, tx, ty);
  Launch l = product_launch(n.in(0).dtype, n.in(1).dtype, n.out(0).dtype, p, batches);
  l.in(0).in(1).none();
  n.has(2) ? l.in(2) : l.none();
  return one(std::move(l.none().out(0).value(p)));
}

Result<Launches> linear(const NodeView& n) {
  const Type &x = n.in("x"), &w = n.in("w"), &y = n.out(0);
  if (!n.text("scheme").empty() || w.dtype == DType::i8)
    return no_kernel(n, "a weight in blocks is widened first");
  if (!is_fused(y.dtype)) return no_kernel(n, fmt::format("not for {}", name_of(y.dtype)));
  // Without an attribute to round to, a weight in another type is widened first.
  if (w.dtype != x.dtype && !n.flag("bf16") && !n.flag("f16"))
    return no_kernel(n, fmt::format("{} with a weight in {}", name_of(x.dtype), name_of(w.dtype)));
  if (n.has("bias") && n.in("bias").dtype != y.dtype)
    return no_kernel(n, fmt::format("a bias in {}", name_of(n.in("bias").dtype)));
  if (y.count() == 0) return Launches{};
  Product p = product_of(n, x.shape[0], x.shape[1], y.shape[1], false, n.flag("trans_w"));
  if (n.text("act") != "none") p.act = activation_index(n.text("act"));
  Launch l = product_launch(x.dtype, w.dtype, y.dtype, p);
  l.in(0).in(1);
  for (const char* operand : {"bias", "residual"})
    n.has(operand) ? l.in(n.slot(operand)) : l.none();
  n.flag("save_pre") ? l.out(1) : l.none();
  return one(std::move(l.out(0).value(p)));
}

}  // namespace

Product product_of(const NodeView& n, int64_t m, int64_t k, int64_t columns, bool trans_x,
                   bool trans_y) {
  Product p{};
  p.m = m;
  p.n = columns;
  p.k = k;
  p.row_x = trans_x ? 1 : k;
  p.column_x = trans_x ? m : 1;
  p.row_y = trans_y ? 1 : columns;
  p.column_y = trans_y ? k : 1;
  p.round = n.flag("bf16") ? 1 : n.flag("f16") ? 2 : 0;
  p.act = kNoActivation;
  return p;
}

Launch product_launch(DType x, DType y, DType z, const Product& p, int64_t batches) {
  const auto tiles = [](int64_t count) { return (count + kTile - 1) / kTile; };
  Launch l(fmt::format("product_{}_{}_{}", name_of(x), name_of(y), name_of(z)));
  l.blocks(tiles(p.n));
  l.grid_y = static_cast<unsigned>(std::min<int64_t>(tiles(p.m), kMostRows));
  l.grid_z = static_cast<unsigned>(batches);
  l.block_x = l.block_y = kTile;
  return l;
}

void add_products(LaunchTable& t) {
  t["matmul"] = matmul;
  t["linear"] = linear;
}

}  // namespace hone::cuda
