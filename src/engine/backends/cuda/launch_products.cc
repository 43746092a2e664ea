// Launches of matrix products: by cuBLASLt if it takes the product, else by own kernels.
#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/block_schemes.h"
#include "engine/ops/support.h"

namespace hone::cuda {
namespace {

constexpr unsigned kTile = 16, kMostRows = 65'535;

bool is_there(const LaunchArgument& a) { return a.of != LaunchArgument::Of::value; }

Result<Launches> matmul(const NodeView& n, const LaunchOptions& options) {
  const Shape &s = n.out(0).shape, &x = n.in(0).shape;
  ProductForm f{n.in(0).dtype, n.in(1).dtype, n.out(0).dtype};
  f.trans_x = n.flag("trans_x");
  f.trans_y = n.flag("trans_y");
  f.m = s[s.size() - 2];
  f.n = s[s.size() - 1];
  f.k = x[x.size() - (f.trans_x ? 2 : 1)];
  f.batches = f.m * f.n == 0 ? 0 : n.out(0).count() / (f.m * f.n);
  f.rounded = rounded_to(n);
  if (n.has(2) && n.in(2).dtype != f.z)
    return no_kernel(n, fmt::format("an accumulator in {}", name_of(n.in(2).dtype)));
  if (f.batches == 0) return Launches{};
  if (f.batches > kMostRows) return no_kernel(n, "more than 65,535 matrices");
  ProductArguments a{
      .x = LaunchArgument::input(0), .y = LaunchArgument::input(1), .z = LaunchArgument::output(0)};
  if (n.has(2)) a.onto = LaunchArgument::input(2);
  Launches all;
  add_product(all, f, a, options);
  return all;
}

Result<Launches> linear(const NodeView& n, const LaunchOptions& options) {
  const Type &x = n.in("x"), &w = n.in("w"), &y = n.out(0);
  const bool in_blocks = !n.text("scheme").empty();
  if (!is_fused(y.dtype)) return no_kernel(n, fmt::format("not for {}", name_of(y.dtype)));
  if (x.dtype != DType::f16 || rounded_to(n) != DType::f32)
    if (Result<Launches> few = few_rows(n)) return few;
  if (w.dtype == DType::i8) return no_kernel(n, "a weight in i8 is widened first");
  // If no attribute rounds the operands, a weight of another type is widened first.
  if (w.dtype != x.dtype && !in_blocks && rounded_to(n) == DType::f32)
    return no_kernel(n, fmt::format("{} with a weight in {}", name_of(x.dtype), name_of(w.dtype)));
  const bool rounds_bias = n.has("bias") && n.in("bias").dtype == DType::f32 &&
                           !n.text("as").empty() && y.dtype != DType::f32;
  for (const char* added : {"bias", "residual"})
    if (n.has(added) && n.in(added).dtype != y.dtype && !(rounds_bias && added[0] == 'b'))
      return no_kernel(n, fmt::format("a {} in {}", added, name_of(n.in(added).dtype)));
  if (y.count() == 0) return Launches{};
  ProductForm f{x.dtype, w.dtype, y.dtype, x.shape[0], y.shape[1], x.shape[1]};
  f.trans_y = n.flag("trans_w");
  f.rounded = rounded_to(n);
  if (n.text("act") != "none") f.act = activation_index(n.text("act"));
  ProductArguments a{
      .x = LaunchArgument::input(0), .y = LaunchArgument::input(1), .z = LaunchArgument::output(0)};
  if (n.has("residual")) a.onto = LaunchArgument::input(n.slot("residual"));
  if (n.flag("save_pre")) a.pre = LaunchArgument::output(1);
  Launches all;
  if (in_blocks) {
    f.y = HONE_TRY(add_widened(all, n, x.dtype, f.rounded));
    a.y = LaunchArgument::work();
  }
  if (n.has("bias")) a.bias = LaunchArgument::input(n.slot("bias"));
  if (rounds_bias) {
    const LaunchArgument narrow = LaunchArgument::work(all.workspace_bytes);
    all.launches.push_back(cast_launch(DType::f32, y.dtype, a.bias, narrow, f.n));
    all.workspace_bytes += whole_part(f.n * size_of(y.dtype));
    a.bias = narrow;
  }
  add_product(all, f, a, options);
  return all;
}

// A tile of 16 x 16 for each block.
void add_own(Launches& all, const ProductForm& f, const ProductArguments& a) {
  Product p{};
  p.m = f.m;
  p.n = f.n;
  p.k = f.k;
  const int64_t step_x = f.step_x > 0 ? f.step_x : f.trans_x ? f.m : f.k;
  const int64_t step_y = f.step_y > 0 ? f.step_y : f.trans_y ? f.k : f.n;
  p.row_x = f.trans_x ? 1 : step_x;
  p.column_x = f.trans_x ? step_x : 1;
  p.row_y = f.trans_y ? 1 : step_y;
  p.column_y = f.trans_y ? step_y : 1;
  p.row_z = f.step_z > 0 ? f.step_z : f.n;
  p.round = f.rounded == DType::bf16 ? 1 : f.rounded == DType::f16 ? 2 : 0;
  p.act = f.act;
  const auto tiles = [](int64_t count) { return (count + kTile - 1) / kTile; };
  Launch l(fmt::format("product_{}_{}_{}", name_of(f.x), name_of(f.y), name_of(f.z)));
  l.grid_x = static_cast<unsigned>(
      tiles(p.n));  // a block for each: the kernel does not stride over columns
  l.grid_y = static_cast<unsigned>(std::min<int64_t>(tiles(p.m), kMostRows));
  l.grid_z = static_cast<unsigned>(f.batches);
  l.block_x = l.block_y = kTile;
  l.argument(a.x).argument(a.y).argument(a.bias).argument(a.onto).argument(a.pre).argument(a.z);
  all.launches.push_back(std::move(l.value(p)));
}

cudaDataType library_type(DType t) {
  return t == DType::f64    ? CUDA_R_64F
         : t == DType::f32  ? CUDA_R_32F
         : t == DType::bf16 ? CUDA_R_16BF
                            : CUDA_R_16F;
}

// The library's operands have one type.
DType library_operands(const ProductForm& f) { return f.rounded != DType::f32 ? f.rounded : f.x; }
bool library_takes(const ProductForm& f, const ProductArguments& a) {
  const DType t = library_operands(f);
  const auto fits = [&](DType own) {
    return own == t || (f.rounded != DType::f32 && own == DType::f32);
  };
  const bool has_act = f.act != kNoActivation;
  return f.k > 0 && fits(f.x) && fits(f.y) &&
         (f.z == t || (f.z == DType::f32 && t != DType::f64)) && !(has_act && is_there(a.onto)) &&
         (has_act || !is_there(a.pre));
}

int64_t lowest_bit(int64_t x) { return x & -x; }

// The activation of what a product of the library has made.
Launch activation_of(const LibraryProduct& p, const LaunchArgument& made, const LaunchArgument& z,
                     int act) {
  const char* type = p.result == CUDA_R_32F ? "f32" : p.result == CUDA_R_16BF ? "bf16" : "f16";
  const int64_t count = p.batches * p.m * p.n;
  Launch l(fmt::format("activation_{}", type));
  l.argument(made).argument(z).value(count).value(act).mapped(count);
  return l;
}

// Products of this many multiplications and more are worth a copy of an operand whose rows begin at
// odd addresses: it is read several times slower there.
constexpr double kWorthPadding = 2e9;

// The operand of a product in the library's type, where that is not the one it is kept in: a copy at
// `end` of the workspace. Its rows begin `step` elements apart.
LaunchArgument add_operand(Launches& all, int64_t& end, const ProductForm& f,
                           const LaunchArgument& own, DType from, int64_t rows, int64_t columns,
                           int64_t& step) {
  const DType t = library_operands(f);
  const double multiplications =
      static_cast<double>(f.m) * static_cast<double>(f.n) * static_cast<double>(f.k);
  const bool is_odd =
      size_of(t) == 2 && f.batches == 1 && step == 0 && padded_row(columns) != columns;
  const bool pads = is_odd && (from != t || multiplications >= kWorthPadding);
  if (from == t && !pads) return own;
  const LaunchArgument to = LaunchArgument::work(end);
  if (pads) {
    step = padded_row(columns);
    end += whole_part(rows * step * size_of(t));
    all.launches.push_back(pad_launch(from, t, own, to, rows, columns, rows, step));
    return to;
  }
  const int64_t count = f.batches * rows * columns;
  end += whole_part(count * size_of(t));
  all.launches.push_back(cast_launch(from, t, own, to, count));
  return to;
}

// Casts of operands that are rounded, the product, and the activation of what it has kept.
void add_library(Launches& all, const ProductForm& f, const ProductArguments& a,
                 const LaunchOptions& options) {
  const DType t = library_operands(f);
  const int64_t workspace = whole_part(all.workspace_bytes);
  int64_t end = workspace + options.library_bytes;
  LibraryProduct p{library_type(t), library_type(f.z)};
  p.step_x = f.step_x;
  p.step_y = f.step_y;
  p.step_z = f.step_z;
  const LaunchArgument x = f.trans_x ? add_operand(all, end, f, a.x, f.x, f.k, f.m, p.step_x)
                                     : add_operand(all, end, f, a.x, f.x, f.m, f.k, p.step_x);
  const LaunchArgument y = f.trans_y ? add_operand(all, end, f, a.y, f.y, f.n, f.k, p.step_y)
                                     : add_operand(all, end, f, a.y, f.y, f.k, f.n, p.step_y);
  // Its gelu is the one by tanh, of what is not rounded yet. Rows of what it keeps are multiples of
  // eight elements.
  const bool has_gelu = f.act == activation_index("gelu_tanh") && f.z == DType::f32 && f.n % 8 == 0;
  const LaunchArgument& made = is_there(a.pre) && !has_gelu && !f.slope ? a.pre : a.z;
  p.trans_x = f.trans_x;
  p.trans_y = f.trans_y;
  p.has_bias = is_there(a.bias);
  p.has_onto = is_there(a.onto);
  p.gelu = has_gelu;
  p.keeps_pre = has_gelu && is_there(a.pre);
  p.slope = f.slope;
  p.sums = is_there(a.sums);
  p.m = f.m;
  p.n = f.n;
  p.k = f.k;
  p.batches = f.batches;
  p.workspace_bytes = options.library_bytes;
  p.alignment = 64;  // of values in an arena
  const auto at = [&](int64_t bytes) {
    if (bytes != 0) p.alignment = std::min(p.alignment, lowest_bit(bytes));
  };
  for (const LaunchArgument* one : {&x, &y, &a.bias, &a.onto, &a.pre, &a.sums, &made})
    at(one->offset);
  if (f.batches > 1) {
    at(f.m * f.k * size_of(t));
    at(f.k * f.n * size_of(t));
    at(f.m * f.n * size_of(f.z));
  }
  Launch l("cublasLtMatmul");
  l.library = p;
  l.argument(x).argument(y).argument(p.sums ? a.sums : a.bias).argument(a.onto);
  l.argument(made).work(workspace);
  p.keeps_pre || p.slope ? l.argument(a.pre) : l.none();
  all.launches.push_back(std::move(l));
  if (f.act != kNoActivation && !has_gelu)
    all.launches.push_back(activation_of(p, made, a.z, f.act));
  all.product_bytes = std::max(all.product_bytes, end - all.workspace_bytes);
}

// The product whose epilogue multiplies by the slope and sums the rows, in the result's type; then what is made again.
void add_with_slope(Launches& all, const NodeView& n, ProductForm f, ProductArguments a,
                    const LaunchOptions& options) {
  const bool sums = n.flag("sums"), remade = n.flag("remade");
  f.slope = true;
  a.pre = LaunchArgument::input(n.slot("pre"));
  if (sums) {
    a.sums = LaunchArgument::work();
    all.workspace_bytes = whole_part(f.n * size_of(f.z));
  }
  add_library(all, f, a, options);
  const LibraryProduct p = *all.launches.back().library;
  if (sums)
    all.launches.push_back(
        cast_launch(f.z, DType::f32, a.sums, LaunchArgument::output(remade ? 2 : 1), f.n));
  if (remade)
    all.launches.push_back(
        activation_of(p, a.pre, LaunchArgument::output(1), activation_index(n.text("kind"))));
}

// A product and the gradient of an activation after it, in one launch if the library has its slope.
Result<Launches> linear_activation_grad(const NodeView& n, const LaunchOptions& options) {
  const Type &x = n.in("x"), &w = n.in("w"), &y = n.out(0);
  if (!is_fused(y.dtype)) return no_kernel(n, fmt::format("not for {}", name_of(y.dtype)));
  if (w.dtype != x.dtype && rounded_to(n) == DType::f32)
    return no_kernel(n, fmt::format("{} with a weight in {}", name_of(x.dtype), name_of(w.dtype)));
  if (y.count() == 0) return no_kernel(n, "nothing to multiply");
  ProductForm f{x.dtype, w.dtype, y.dtype, x.shape[0], y.shape[1], x.shape[1]};
  f.trans_y = n.flag("trans_w");
  f.rounded = rounded_to(n);
  const ProductArguments a{
      .x = LaunchArgument::input(0), .y = LaunchArgument::input(1), .z = LaunchArgument::output(0)};
  Launches all;
  const bool has_slope = options.library && options.slopes && n.text("kind") == "gelu_tanh" &&
                         f.z == DType::bf16 && f.n % 8 == 0 && library_takes(f, a);
  if (has_slope) {
    add_with_slope(all, n, f, a, options);
    return all;
  }
  if (n.flag("sums")) all.workspace_bytes = row_part_bytes(f.m, f.n);  // before the product's
  add_product(all, f, a, options);
  if (!add_activation_grad(all, n, LaunchArgument::input(n.slot("pre")), LaunchArgument::output(0)))
    return no_kernel(n, fmt::format("not {} of {}", n.text("kind"), name_of(y.dtype)));
  return all;
}

}  // namespace

Launch pad_launch(DType from, DType to, const LaunchArgument& in, const LaunchArgument& out,
                  int64_t rows, int64_t columns, int64_t out_rows, int64_t step) {
  Launch pad(fmt::format("pad_rows_{}_{}", name_of(from), name_of(to)));
  pad.argument(in).argument(out).value(rows).value(columns).value(out_rows).value(step);
  pad.blocks(out_rows);
  return pad;
}

Result<DType> add_widened(Launches& all, const NodeView& n, DType x, DType rounded) {
  const Shape& payload = n.in("w").shape;
  const DType t = rounded == DType::bf16 || x == DType::bf16 ? DType::bf16 : DType::f32;
  if (x == DType::f16 && rounded == DType::f32) return no_kernel(n, "a weight in blocks for f16");
  const Type matrix{t, {payload[0], block_scheme(n.text("scheme"))->columns(payload[1])}};
  all.launches.push_back(HONE_TRY(widen_launch(n, matrix, LaunchArgument::work())));
  all.workspace_bytes = whole_part(matrix.bytes());
  return t;
}

std::vector<Launch> without_gelu(const Launch& l) {
  Launch product = l;
  LibraryProduct& p = *product.library;
  constexpr size_t kZ = 4, kPre = 6;
  const LaunchArgument z = l.arguments[kZ], made = p.keeps_pre ? l.arguments[kPre] : z;
  product.arguments[kZ] = made;
  product.arguments[kPre] = LaunchArgument::null();
  p.gelu = p.keeps_pre = false;
  Launch act = activation_of(p, made, z, activation_index("gelu_tanh"));
  return {std::move(product), std::move(act)};
}

void add_product(Launches& all, const ProductForm& form, const ProductArguments& arguments,
                 const LaunchOptions& options) {
  if (options.library && library_takes(form, arguments)) {
    add_library(all, form, arguments, options);
  } else {
    all.note = options.library ? "a product that cuBLASLt does not have" : "cuBLASLt is not found";
    add_own(all, form, arguments);
  }
}

void add_products(LaunchTable& t, const LaunchOptions& options) {
  t["matmul"] = [options](const NodeView& n) { return matmul(n, options); };
  t["linear"] = [options](const NodeView& n) { return linear(n, options); };
  t["linear_activation_grad"] = [options](const NodeView& n) {
    return linear_activation_grad(n, options);
  };
}

}  // namespace hone::cuda
