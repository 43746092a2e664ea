// Launches of convolutions and their gradients. Windows that are pixels are plain products of matrices, which the
// library has; others are gathered by the kernels that multiply them, and nothing but the weight is copied.
#include "engine/backends/cuda/launch_tables.h"
#include "engine/backends/cuda/launch_windows.h"
#include "engine/ops/image_parts.h"

namespace hone::cuda {
namespace {

constexpr int64_t kMostGrid = 65'535;  // of its second and third dimension
constexpr int64_t kMostPixels = int64_t{1} << 30;
// Blocks that fill a large GPU: sums over positions are made of as many parts. Their number depends on shapes alone,
// and so do the bits.
constexpr int64_t kWantedBlocks = 528, kWantedWarps = 8448, kLeastPositions = 512;

int64_t conv_tiles(int64_t count, int64_t size) { return (count + size - 1) / size; }

// Whether the windows are the pixels, of one group.
bool is_plain(const ConvDims& d) {
  return d.groups == 1 && d.taps() == 1 && d.stride_h == 1 && d.stride_w == 1 && d.top == 0 &&
         d.left == 0 && d.out_h == d.height && d.out_w == d.width;
}
// Each channel of the result is made of the channel of the same number.
bool is_by_channel(const ConvDims& d) {
  return d.groups > 1 && d.groups == d.channels && d.out_channels == d.channels;
}

// A convolution of a node, and how it is multiplied.
struct ConvPlan {
  ConvDims d;
  // `first` and `second`: of the operands 0 and 1. operands: the type that they are multiplied in.
  DType first = DType::f32, second = DType::f32, result = DType::f32, operands = DType::f32;
  bool rounds = false;
  bool tensor_cores = false;  // the product of other than plain ones

  ConvPlan(const NodeView& n, const ConvDims& d, const LaunchOptions& options)
      : d(d), first(n.in(0).dtype), second(n.in(1).dtype), result(n.out(0).dtype) {
    rounds = rounded_to(n) != DType::f32;
    operands = rounds ? rounded_to(n) : first;
    tensor_cores = options.tensor_cores && operands != DType::f32 && !is_by_channel(d);
  }
  // Whether the kernels take these types.
  bool fits() const {
    const auto takes = [&](DType t) { return t == operands || (rounds && t == DType::f32); };
    return is_fused(operands) && takes(first) && takes(second) && is_fused(result);
  }
  // Whether the library multiplies without a copy of an operand 0 of images.
  bool is_product(const LaunchOptions& options) const {
    return options.library && is_plain(d) && first == operands &&
           (result == operands || result == DType::f32);
  }
  // The type that the weight is turned to.
  DType weight() const { return tensor_cores ? operands : DType::f32; }
  int round() const {
    return !rounds ? 0 : operands == DType::bf16 ? 1 : operands == DType::f16 ? 2 : 0;
  }
  // "conv_f32_by_bf16": elements in f32 that are rounded to bf16 for tensor cores.
  std::string kernel(const std::string& name) const {
    return tensor_cores ? fmt::format("{}_by_{}", name, name_of(operands)) : name;
  }
  Conv arguments() const {
    const auto i = [](int64_t v) { return static_cast<int>(v); };
    Conv c = windows_of(d);
    c.to_channels = i(d.out_channels);
    c.groups = i(d.groups);
    c.inner = i(d.group_in());
    c.columns = i(d.group_out());
    c.round = round();
    c.bias = c.result = element_of(result);
    return c;
  }
  // The gradient by the input reads results and writes pixels.
  Conv backwards() const {
    Conv c = arguments();
    std::swap(c.from_h, c.to_h);
    std::swap(c.from_w, c.to_w);
    std::swap(c.from_channels, c.to_channels);
    std::swap(c.inner, c.columns);
    c.back = true;
    return c;
  }
  int64_t phases() const { return std::min(d.stride_h, d.height) * std::min(d.stride_w, d.width); }
};

Result<ConvPlan> plan_of(const NodeView& n, const Shape& images, const Shape& weight,
                         const LaunchOptions& options) {
  const ConvDims d = HONE_TRY(conv_dims(n, images, weight));
  const ConvPlan p(n, d, options);
  if (!p.fits())
    return no_kernel(
        n, fmt::format("{} and {} to {}", name_of(p.first), name_of(p.second), name_of(p.result)));
  constexpr int64_t kMost = 0x7fffffff;
  if (d.positions() > kMostPixels || d.inner() + kConvRows > kMost || d.channels > kMost ||
      d.out_channels > kMost || d.taps() * d.group_out() + kConvDepth > kMost)
    return no_kernel(n, "more than 2^30 positions or 2^31 elements of a window");
  if (d.groups * p.phases() > kMostGrid) return no_kernel(n, "more than 65,535 groups");
  return p;
}

// Turns the weight to [out, taps, in of the group] at the beginning of the workspace, or backwards to [in, taps, out of
// the group]; by channel to [taps, channels]. Returns it as it is where this changes nothing.
LaunchArgument add_turned(Launches& all, const ConvPlan& p, size_t input, bool back) {
  const ConvDims& d = p.d;
  const Turned t = is_by_channel(d) ? Turned{1, d.channels, d.taps()}
                   : back           ? Turned{d.groups, d.group_out(), d.group_in() * d.taps()}
                                    : Turned{d.out_channels, d.group_in(), d.taps()};
  const bool same_type = p.weight() == p.second && (p.second != DType::f32 || !p.rounds);
  const bool same_order = t.rows == 1 || t.columns == 1;
  if (same_type && same_order) return LaunchArgument::input(input);
  const int64_t blocks = t.outer * conv_tiles(t.rows, kWarp) * conv_tiles(t.columns, kWarp);
  if (blocks > 0) {
    Launch l(fmt::format("turn_weight_{}_{}", name_of(p.second), name_of(p.weight())));
    l.in(input).work().value(t).value(p.round()).blocks(blocks);
    l.block_x = kWarp;
    l.block_y = 8;
    all.launches.push_back(std::move(l));
  }
  all.workspace_bytes = whole_part(t.outer * t.rows * t.columns * size_of(p.weight()));
  return LaunchArgument::work();
}

// The product of rows of pixels, or by channel; `from` is operand 0, and the weight operand 1.
void add_row_product(Launches& all, const ConvPlan& p, const Conv& c, const LaunchArgument& bias,
                     const LaunchArgument& onto) {
  const LaunchArgument w = add_turned(all, p, 1, c.back);
  const int64_t phases = c.back ? p.phases() : 1;
  const int64_t down = c.back ? conv_tiles(c.to_h, c.stride_h) : c.to_h,
                across = c.back ? conv_tiles(c.to_w, c.stride_w) : c.to_w;
  Launch l(is_by_channel(p.d) ? kernel_of("conv_channels", p.first)
                              : p.kernel(kernel_of("conv", p.first)));
  l.in(0).argument(w).argument(bias).argument(onto).out(0).value(c);
  if (is_by_channel(p.d)) {
    l.over(c.images * down * conv_tiles(across, kConvSpan) *
           conv_tiles(p.d.channels, kSummedColumns));
    l.grid_y = static_cast<unsigned>(phases);
  } else {
    l.grid_x = static_cast<unsigned>(conv_tiles(c.images * down * across, kConvRows) *
                                     conv_tiles(c.columns, kConvColumns));
    l.grid_z = static_cast<unsigned>(phases * c.groups);
  }
  all.launches.push_back(std::move(l));
}

// The plain product z = x y, of operands 0 and 1.
Launches plain(const ProductForm& form, const ConvPlan& p, const LaunchArgument& bias,
               const LaunchArgument& onto, const LaunchOptions& options) {
  ProductForm f = form;
  f.x = p.first;
  f.y = p.second;
  f.z = p.result;
  if (p.rounds) f.rounded = p.operands;
  Launches all;
  add_product(all, f,
              {.x = LaunchArgument::input(0),
               .y = LaunchArgument::input(1),
               .bias = bias,
               .onto = onto,
               .z = LaunchArgument::output(0)},
              options);
  return all;
}

LaunchArgument optional_input(const NodeView& n, const char* name) {
  return n.has(name) ? LaunchArgument::input(n.slot(name)) : LaunchArgument::null();
}

Result<Launches> conv2d(const NodeView& n, const LaunchOptions& options) {
  const ConvPlan p = HONE_TRY(plan_of(n, n.in("x").shape, n.in("w").shape, options));
  if (n.out(0).count() == 0) return Launches{};
  const LaunchArgument bias = optional_input(n, "bias");
  const DType of_bias = n.has("bias") ? n.in("bias").dtype : p.result;
  if (p.is_product(options) && of_bias == p.result && p.d.channels > 0) {
    ProductForm f{.m = p.d.positions(), .n = p.d.out_channels, .k = p.d.channels};
    f.trans_y = true;
    return plain(f, p, bias, LaunchArgument::null(), options);
  }
  Launches all;
  Conv c = p.arguments();
  c.bias = element_of(of_bias);
  add_row_product(all, p, c, bias, LaunchArgument::null());
  return all;
}

Result<Launches> conv2d_grad_input(const NodeView& n, const LaunchOptions& options) {
  const ConvPlan p = HONE_TRY(plan_of(n, n.out(0).shape, n.in("w").shape, options));
  if (n.out(0).count() == 0) return Launches{};
  const LaunchArgument onto = optional_input(n, "acc");
  if (p.is_product(options) && p.d.out_channels > 0)
    return plain({.m = p.d.positions(), .n = p.d.channels, .k = p.d.out_channels}, p,
                 LaunchArgument::null(), onto, options);
  Launches all;
  add_row_product(all, p, p.backwards(), LaunchArgument::null(), onto);
  return all;
}

// Parts over positions by channel; returns their number.
int64_t add_channel_parts(Launches& all, const ConvPlan& p) {
  const ConvDims& d = p.d;
  const int64_t rows = d.images * d.out_h, warps = conv_tiles(d.channels, kWarp) * d.kernel_h *
                                                   conv_tiles(d.kernel_w, kConvTaps);
  const int64_t wanted = std::clamp<int64_t>(kWantedWarps / warps, 1, std::max<int64_t>(rows, 1));
  const int64_t size = std::max<int64_t>(conv_tiles(rows, wanted), 1),
                parts = conv_tiles(rows, size);
  Launch l(kernel_of("conv_channel_parts", p.second));
  l.in(1).in(0).value(element_of(p.first)).work().value(p.arguments()).value(rows).value(size);
  l.grid_x = static_cast<unsigned>(conv_tiles(warps * parts * kWarp, kBlock));
  if (parts > 0) all.launches.push_back(std::move(l));
  return parts;
}

int64_t add_conv_parts(Launches& all, const ConvPlan& p) {
  const ConvDims& d = p.d;
  const int64_t blocks = conv_tiles(d.inner(), kConvRows) * conv_tiles(d.group_out(), kConvColumns);
  const int64_t most = std::min(conv_tiles(d.positions(), kLeastPositions),
                                kMostGrid / std::max<int64_t>(d.groups, 1));
  const int64_t wanted =
      std::clamp<int64_t>(kWantedBlocks / (blocks * d.groups), 1, std::max<int64_t>(most, 1));
  // Whole tiles of positions.
  const int64_t size =
      std::max<int64_t>(conv_tiles(conv_tiles(d.positions(), wanted), kConvDepth), 1) * kConvDepth;
  const int64_t parts = conv_tiles(d.positions(), size);
  Launch l(p.kernel(kernel_of(kernel_of("conv_parts", p.second), p.first)));
  l.in(1).in(0).work().value(ConvParts{p.arguments(), d.positions(), size});
  l.grid_x = static_cast<unsigned>(blocks);
  l.grid_z = static_cast<unsigned>(parts * d.groups);
  if (parts > 0) all.launches.push_back(std::move(l));
  return parts;
}

Result<Launches> conv2d_grad_weight(const NodeView& n, const LaunchOptions& options) {
  const ConvPlan p = HONE_TRY(plan_of(n, n.in("x").shape, n.out(0).shape, options));
  const ConvDims& d = p.d;
  if (n.out(0).count() == 0) return Launches{};
  const LaunchArgument onto = optional_input(n, "acc");
  if (p.is_product(options) && p.second == p.operands && d.positions() > 0) {
    ProductForm f{.m = d.out_channels, .n = d.channels, .k = d.positions()};
    f.trans_x = true;
    return plain(f, p, LaunchArgument::null(), onto, options);
  }
  Launches all;
  const bool by_channel = is_by_channel(d);
  const int64_t parts = by_channel ? add_channel_parts(all, p) : add_conv_parts(all, p);
  const int64_t count = n.out(0).count();
  all.workspace_bytes = parts * count * 4;
  Launch sum("sum_weight");
  sum.work().argument(onto).out(0).value(element_of(p.result)).value(parts);
  if (by_channel)
    sum.value(int64_t{1}).value(d.taps()).value(int64_t{1}).value(d.channels);
  else
    sum.value(d.groups).value(d.taps()).value(d.group_in()).value(d.group_out());
  all.launches.push_back(std::move(sum.over(count)));
  return all;
}

}  // namespace

void add_convs(LaunchTable& t, const LaunchOptions& options) {
  t["conv2d"] = [options](const NodeView& n) { return conv2d(n, options); };
  t["conv2d_grad_input"] = [options](const NodeView& n) { return conv2d_grad_input(n, options); };
  t["conv2d_grad_weight"] = [options](const NodeView& n) { return conv2d_grad_weight(n, options); };
}

}  // namespace hone::cuda
