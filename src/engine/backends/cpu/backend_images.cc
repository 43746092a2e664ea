// Convolutions on the packed matrix product, batch norms, and maxima of windows.
#include <algorithm>
#include <array>
#include <atomic>

#include "engine/backends/cpu/backend_support.h"
#include "engine/backends/cpu/gemm/gemm.h"
#include "engine/backends/cpu/kernels/images.h"
#include "engine/ops/image_parts.h"

namespace hone::cpu {
namespace {

constexpr int64_t aligned_floats(int64_t n) { return (n + 15) / 16 * 16; }

std::string conv_id(const char* what, const Gemm& g) {
  const GemmSums sums = gemm_sums(g);
  return fmt::format("cpu.{}{}{}.k{}", what, *sums.parts ? "_" : "", sums.parts, sums.block_k);
}

// Sizes and steps of windows, which Patches and Windows2d have alike.
template <class Windows>
Windows window_sizes(const WindowDims& d) {
  return {.height = d.height,
          .width = d.width,
          .out_h = d.out_h,
          .out_w = d.out_w,
          .kernel_h = d.kernel_h,
          .kernel_w = d.kernel_w,
          .stride_h = d.stride_h,
          .stride_w = d.stride_w,
          .top = d.top,
          .left = d.left,
          .dilation_h = d.dilation_h,
          .dilation_w = d.dilation_w};
}

// The windows of the images of one group.
Patches patches_of(const ConvDims& d) {
  auto patches = window_sizes<Patches>(d);
  patches.pixel = d.channels;
  patches.channels = d.group_in();
  return patches;
}

// Whether the windows of a group are the pixels.
bool is_plain(const ConvDims& d) {
  return d.taps() == 1 && d.stride_h == 1 && d.stride_w == 1 && d.out_h == d.height &&
         d.out_w == d.width && d.top == 0 && d.left == 0;
}

// The product without pointers, and its windows if they are not the pixels. The second holds `patches`.
struct ConvProduct {
  Gemm gemm;
  Patches patches;
  bool windows = false;
  Gemm with(const float* images) const {
    Gemm g = gemm;
    g.a = images;
    if (windows) g.patches = &patches;
    return g;
  }
  int64_t workspace_bytes(int threads) const {
    return gemm_workspace_bytes(with(nullptr), threads);
  }
};

// w [K,C/g,taps] -> [K,taps,C/g].
void turn_weight(const ConvDims& d, const float* w, float* out, ThreadPool& pool) {
  const int64_t taps = d.taps(), in = d.group_in();
  pool.parallel_for(d.out_channels, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k)
      for (int64_t t = 0; t < taps; ++t)
        for (int64_t c = 0; c < in; ++c) out[(k * taps + t) * in + c] = w[(k * in + c) * taps + t];
  });
}

// w [K,taps] of channels -> [taps,K], and back into dw or onto it.
void columns_of_taps(int64_t columns, int64_t taps, const float* w, float* out) {
  for (int64_t k = 0; k < columns; ++k)
    for (int64_t t = 0; t < taps; ++t) out[t * columns + k] = w[k * taps + t];
}
void rows_of_taps(int64_t columns, int64_t taps, const float* turned, bool adds, float* dw) {
  for (int64_t k = 0; k < columns; ++k)
    for (int64_t t = 0; t < taps; ++t) {
      const float v = turned[t * columns + k];
      dw[k * taps + t] = adds ? dw[k * taps + t] + v : v;
    }
}

Windows2d windows_of(const WindowDims& d) {
  auto windows = window_sizes<Windows2d>(d);
  windows.images = d.images;
  windows.channels = d.channels;
  return windows;
}

// Each channel of the result is made of the channel of the same number.
bool is_by_channel(const ConvDims& d) {
  return d.groups > 1 && d.groups == d.channels && d.out_channels == d.channels;
}

Kernel convolution_by_channel(const NodeView& n, const ConvDims& d) {
  const bool has_bias = n.has("bias");
  const size_t bias = n.slot("bias");
  return {"cpu.channel_conv", 4 * d.channels * d.taps(), [=](const KernelArgs& a) {
            float* w = static_cast<float*>(a.workspace);
            columns_of_taps(d.channels, d.taps(), in(a, 1), w);
            channel_conv(windows_of(d), in(a, 0), w, has_bias ? in(a, bias) : nullptr, out(a, 0),
                         pool_of(a));
          }};
}

Kernel input_gradient_by_channel(const NodeView& n, const ConvDims& d) {
  const bool onto = n.has("acc");
  const size_t acc = n.slot("acc");
  return {"cpu.channel_conv_grad_input", 4 * d.channels * d.taps(), [=](const KernelArgs& a) {
            if (onto) copy_if_apart(a, acc, 0, d.pixels() * d.channels);
            float* w = static_cast<float*>(a.workspace);
            columns_of_taps(d.channels, d.taps(), in(a, 1), w);
            channel_conv_input_gradient(windows_of(d), in(a, 0), w, onto, out(a, 0), pool_of(a));
          }};
}

Kernel weight_gradient_by_channel(const NodeView& n, const ConvDims& d) {
  const bool onto = n.has("acc");
  const size_t acc = n.slot("acc");
  const int64_t count = d.channels * d.taps();
  return {"cpu.channel_conv_grad_weight",
          4 * aligned_floats(count) + channel_conv_workspace_bytes(windows_of(d)),
          [=](const KernelArgs& a) {
            float* dw = static_cast<float*>(a.workspace);
            if (onto) copy_if_apart(a, acc, 0, count);
            channel_conv_weight_gradient(windows_of(d), in(a, 0), in(a, 1), dw,
                                         dw + aligned_floats(count), pool_of(a));
            rows_of_taps(d.channels, d.taps(), dw, onto, out(a, 0));
          }};
}

Result<Kernel> convolution(const NodeView& n, int threads) {
  const ConvDims d = HONE_TRY(conv_dims(n, n.in("x").shape, n.in("w").shape));
  if (is_by_channel(d)) return convolution_by_channel(n, d);
  const bool has_bias = n.has("bias"), turns = d.taps() > 1 && d.group_in() > 1;
  const size_t bias = n.slot("bias");
  ConvProduct product{.gemm = {.m = d.positions(),
                               .n = d.group_out(),
                               .k = d.inner(),
                               .lda = d.channels,
                               .ldb = d.inner(),
                               .trans_b = true,
                               .ldc = d.out_channels,
                               .bf16 = n.flag("bf16"),
                               .f16 = n.flag("f16")},
                      .patches = patches_of(d),
                      .windows = !is_plain(d)};
  const int64_t turned = turns ? aligned_floats(d.out_channels * d.inner()) : 0;
  return Kernel{conv_id("conv2d", product.with(nullptr)),
                4 * turned + product.workspace_bytes(threads), [=](const KernelArgs& a) {
                  float* work = static_cast<float*>(a.workspace);
                  const float* w = in(a, 1);
                  if (turns) {
                    turn_weight(d, w, work, pool_of(a));
                    w = work;
                  }
                  for (int64_t group = 0; group < d.groups; ++group) {
                    Gemm g = product.with(in(a, 0) + group * d.group_in());
                    g.b = w + group * d.group_out() * d.inner();
                    g.c = out(a, 0) + group * d.group_out();
                    if (has_bias) g.bias = in(a, bias) + group * d.group_out();
                    gemm(g, work + turned, pool_of(a));
                  }
                }};
}

// ---- the gradient of a weight ----------------------------------------------------------------

// Sums over parts of the images, one thread each, which are added in their order. Sizes depend on the shape alone.
constexpr int64_t kPartPositions = 768;  // at least, of a part
constexpr int64_t kMostParts = 16;
constexpr int64_t kPartColumns = 128;  // at least, of a unit of work

struct WeightParts {
  ConvDims d;
  // The product of dy transposed and the windows: [K of the group, J]; of the largest part.
  ConvProduct product = {};
  int64_t images = 0;  // of a part but the last
  int64_t parts = 0;
  bool direct = false;  // the one product is the gradient

  int64_t places() const { return d.out_h * d.out_w; }
  int64_t count() const { return d.out_channels * d.inner(); }
  int64_t sums() const { return direct ? 0 : aligned_floats(parts * count()); }
  int64_t images_of(int64_t part) const { return std::min(images, d.images - part * images); }
  // A smaller k may have larger blocks.
  int64_t work_bytes() const {
    Gemm g = with(nullptr, nullptr);
    const int64_t most = gemm_columns_workspace_bytes(g);
    if (parts > 1) g.k = images_of(parts - 1) * places();
    return whole_lines(std::max(most, gemm_columns_workspace_bytes(g)));
  }
  Gemm with(const float* dy, const float* x) const {
    Gemm g = product.gemm;
    g.a = dy;
    g.b = x;
    if (product.windows) g.b_patches = &product.patches;
    return g;
  }
  // The columns of a part and group, cut so that there is work for all threads.
  int64_t cuts(int threads) const {
    const int64_t units = std::max<int64_t>(1, parts * d.groups),
                  wanted = (4 * threads + units - 1) / units;
    return std::clamp<int64_t>(wanted, 1, std::max<int64_t>(1, d.inner() / kPartColumns));
  }
};

WeightParts weight_parts(const NodeView& n, const ConvDims& d) {
  WeightParts w{.d = d};
  if (d.positions() > 0) {
    w.images = std::min(d.images, std::max((kPartPositions + w.places() - 1) / w.places(),
                                           (d.images + kMostParts - 1) / kMostParts));
    w.parts = (d.images + w.images - 1) / w.images;
  }
  w.direct = w.parts == 1 && d.taps() == 1;
  w.product = {.gemm = {.m = d.group_out(),
                        .n = d.inner(),
                        .k = w.images * w.places(),
                        .lda = d.out_channels,
                        .trans_a = true,
                        .ldb = d.channels,
                        .ldc = d.inner(),
                        .accumulate = w.direct && n.has("acc"),
                        .bf16 = n.flag("bf16"),
                        .f16 = n.flag("f16")},
               .patches = patches_of(d),
               .windows = !is_plain(d)};
  return w;
}

// Columns [begin, end) of the product of a part and a group, into the rows of the group in `sums`.
void weight_part(const WeightParts& w, int64_t part, int64_t group, int64_t begin, int64_t end,
                 const float* dy, const float* x, float* sums, void* work) {
  const ConvDims& d = w.d;
  const int64_t first = part * w.images;
  Gemm g = w.with(dy + first * w.places() * d.out_channels + group * d.group_out(),
                  x + first * d.height * d.width * d.channels + group * d.group_in());
  g.k = w.images_of(part) * w.places();
  g.c = sums + group * d.group_out() * d.inner();
  gemm_columns(g, begin, end, work);
}

// dw [K,C/g,taps] (+)= the sum of the parts [K,taps,C/g], which is made in the first.
void join_weight_parts(const WeightParts& w, float* sums, bool adds, float* dw, ThreadPool& pool) {
  const int64_t taps = w.d.taps(), in = w.d.group_in(), row = w.d.inner();
  pool.parallel_for(w.d.out_channels, [&](int64_t begin, int64_t end, int) {
    for (int64_t k = begin; k < end; ++k) {
      float* sum = sums + k * row;
      for (int64_t p = 1; p < w.parts; ++p) {
        const float* part = sum + p * w.count();
        for (int64_t j = 0; j < row; ++j) sum[j] += part[j];
      }
      float* to = dw + k * row;
      for (int64_t c = 0; c < in; ++c)
        for (int64_t t = 0; t < taps; ++t) {
          const float v = w.parts == 0 ? 0 : sum[t * in + c];
          to[c * taps + t] = adds ? to[c * taps + t] + v : v;
        }
    }
  });
}

Result<Kernel> weight_gradient(const NodeView& n, int threads) {
  const ConvDims d = HONE_TRY(conv_dims(n, n.in("x").shape, n.out(0).shape));
  if (is_by_channel(d)) return weight_gradient_by_channel(n, d);
  const bool onto = n.has("acc");
  const size_t acc = n.slot("acc");
  const WeightParts w = weight_parts(n, d);
  const int64_t each = w.work_bytes(), cuts = w.cuts(threads);
  return Kernel{
      fmt::format("{}.i{}", conv_id("conv2d_grad_weight", w.product.gemm), w.images),
      4 * w.sums() + threads * each, [=](const KernelArgs& a) {
        if (onto) copy_if_apart(a, acc, 0, w.count());
        float* sums = static_cast<float*>(a.workspace);
        char* work = reinterpret_cast<char*>(sums + w.sums());
        const int64_t units = w.parts * d.groups * cuts;
        std::atomic<int64_t> next{0};  // any thread may do any unit
        pool_of(a).run([&](int thread) {
          for (int64_t u; (u = next.fetch_add(1, std::memory_order_relaxed)) < units;) {
            const int64_t part = u / cuts / d.groups;
            const Range columns =
                thread_range(d.inner(), static_cast<int>(u % cuts), static_cast<int>(cuts));
            weight_part(w, part, u / cuts % d.groups, columns.begin, columns.end, in(a, 0),
                        in(a, 1), w.direct ? out(a, 0) : sums + part * w.count(),
                        work + thread * each);
          }
        });
        if (!w.direct) join_weight_parts(w, sums, onto, out(a, 0), pool_of(a));
      }};
}

// ---- the gradient of the images --------------------------------------------------------------

// The taps of one axis that reach the pixels first, first + stride, ...: tap = last - t step, whose element of dy
// for the i-th of these pixels is i - before + t dilation.
struct AxisTaps {
  int64_t first = 0, pixels = 0, taps = 0, last = 0, step = 1, before = 0, dilation = 1;
};
AxisTaps taps_of(int64_t first, int64_t size, int64_t kernel, int64_t stride, int64_t padding,
                 int64_t dilation) {
  AxisTaps a{.first = first, .pixels = (size - first + stride - 1) / stride};
  a.step = stride;
  a.dilation = stride == 1 ? dilation : 1;
  for (int64_t tap = 0; tap < kernel; ++tap)
    if ((first + padding - tap * dilation) % stride == 0) {
      ++a.taps;
      a.last = tap;
    }
  if (a.taps > 0) a.before = -((first + padding - a.last * dilation) / stride);
  return a;
}

struct Phase {
  AxisTaps h, w;
  ConvProduct product;
  int64_t taps() const { return h.taps * w.taps; }
};

// w of the group -> [taps of the phase, K, C/g].
void phase_weight(const ConvDims& d, const Phase& p, int64_t group, const float* w, float* out,
                  ThreadPool& pool) {
  const int64_t rows = d.group_out(), in = d.group_in(), taps = d.taps();
  pool.parallel_for(p.taps() * rows, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t t = i / rows, k = i % rows;
      const int64_t r = p.h.last - t / p.w.taps * p.h.step, s = p.w.last - t % p.w.taps * p.w.step;
      const float* from = w + (group * rows + k) * in * taps + r * d.kernel_w + s;
      for (int64_t c = 0; c < in; ++c) out[i * in + c] = from[c * taps];
    }
  });
}

// The phase's pixels of a group, [B, pixels of h, pixels of w, C/g], or zeros, into dx or onto it.
void put_phase(const ConvDims& d, const Phase& p, int64_t group, const float* from, bool onto,
               float* dx, ThreadPool& pool) {
  const int64_t in = d.group_in();
  pool.parallel_for(d.images * p.h.pixels, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t image = i / p.h.pixels, row = p.h.first + i % p.h.pixels * d.stride_h;
      for (int64_t j = 0; j < p.w.pixels; ++j) {
        float* to = dx +
                    ((image * d.height + row) * d.width + p.w.first + j * d.stride_w) * d.channels +
                    group * in;
        if (from == nullptr) {
          std::fill(to, to + in, 0.0F);
          continue;
        }
        const float* part = from + (i * p.w.pixels + j) * in;
        if (onto)
          for (int64_t c = 0; c < in; ++c) to[c] += part[c];
        else
          std::memcpy(to, part, static_cast<size_t>(in) * 4);
      }
    }
  });
}

// The phase that begins at pixel (a, b): its taps, and its product of windows of dy.
Phase phase_of(const NodeView& n, const ConvDims& d, int64_t a, int64_t b, bool onto) {
  const Shape& dy = n.in("dy").shape;
  const bool whole = d.stride_h == 1 && d.stride_w == 1;  // one phase
  Phase p{.h = taps_of(a, d.height, d.kernel_h, d.stride_h, d.top, d.dilation_h),
          .w = taps_of(b, d.width, d.kernel_w, d.stride_w, d.left, d.dilation_w),
          .product = {}};
  const int64_t rows = d.images * p.h.pixels * p.w.pixels, inner = p.taps() * d.group_out();
  p.product = {.gemm = {.m = rows,
                        .n = d.group_in(),
                        .k = inner,
                        .lda = d.out_channels,
                        .ldb = d.group_in(),
                        .ldc = whole ? d.channels : d.group_in(),
                        .accumulate = whole && onto,
                        .bf16 = n.flag("bf16"),
                        .f16 = n.flag("f16")},
               .patches = {.height = dy[1],
                           .width = dy[2],
                           .pixel = d.out_channels,
                           .channels = d.group_out(),
                           .out_h = p.h.pixels,
                           .out_w = p.w.pixels,
                           .kernel_h = p.h.taps,
                           .kernel_w = p.w.taps,
                           .top = p.h.before,
                           .left = p.w.before,
                           .dilation_h = p.h.dilation,
                           .dilation_w = p.w.dilation},
               .windows = !is_plain(d)};
  return p;
}

Result<Kernel> input_gradient(const NodeView& n, int threads) {
  const ConvDims d = HONE_TRY(conv_dims(n, n.out(0).shape, n.in("w").shape));
  if (is_by_channel(d)) return input_gradient_by_channel(n, d);
  if ((d.stride_h > 1 && d.dilation_h > 1) || (d.stride_w > 1 && d.dilation_w > 1))
    return declined(n, "no kernel for windows that are strided and dilated");
  const bool whole = d.stride_h == 1 && d.stride_w == 1;  // one phase
  const bool onto = n.has("acc");
  const size_t acc = n.slot("acc");
  std::vector<Phase> phases;
  int64_t scratch = 0, weight = 0, work = 0;
  std::string id;
  for (int64_t a = 0; a < std::min(d.stride_h, d.height); ++a)
    for (int64_t b = 0; b < std::min(d.stride_w, d.width); ++b) {
      Phase p = phase_of(n, d, a, b, onto);
      if (p.taps() > 0) {
        const Gemm& g = p.product.gemm;
        weight = std::max(weight, aligned_floats(g.k * g.n));
        if (!whole) scratch = std::max(scratch, aligned_floats(g.m * g.n));
        work = std::max(work, p.product.workspace_bytes(threads));
        if (id.empty()) id = conv_id("conv2d_grad_input", p.product.with(nullptr));
      }
      phases.push_back(std::move(p));
    }
  return Kernel{id.empty() ? "cpu.conv2d_grad_input" : id, 4 * (weight + scratch) + work,
                [=](const KernelArgs& a) {
                  float* turned = static_cast<float*>(a.workspace);
                  float* part = turned + weight;
                  if (onto) copy_if_apart(a, acc, 0, d.pixels() * d.channels);
                  for (const Phase& p : phases)
                    for (int64_t group = 0; group < d.groups; ++group) {
                      if (p.taps() == 0) {
                        if (!onto) put_phase(d, p, group, nullptr, false, out(a, 0), pool_of(a));
                        continue;
                      }
                      phase_weight(d, p, group, in(a, 1), turned, pool_of(a));
                      Gemm g = p.product.with(in(a, 0) + group * d.group_out());
                      g.b = turned;
                      g.c = whole ? out(a, 0) + group * d.group_in() : part;
                      gemm(g, part + scratch, pool_of(a));
                      if (!whole) put_phase(d, p, group, part, onto, out(a, 0), pool_of(a));
                    }
                }};
}

// ---- norms and pools -------------------------------------------------------------------------

// The first rows that count: operand `at`, or all.
int64_t counted_rows(const KernelArgs& a, bool counts, size_t at, int64_t rows) {
  return counts ? std::clamp<int64_t>(in_i32(a, at)[0], 1, rows) : rows;
}

Result<Kernel> batch_norm_forward(const NodeView& n, int) {
  BatchNorm base;
  base.rows = n.in(0).shape[0];
  base.columns = n.in(0).shape[1];
  base.eps = static_cast<float>(n.real("eps"));
  base.relu = n.flag("relu");
  const bool counts = n.has("rows"), adds = n.has("residual");
  const size_t rows = n.slot("rows"), residual = n.slot("residual"), mean = n.slot("mean"),
               variance = n.slot("variance");
  base.given = n.has("mean");
  if (base.rows == 0) return declined(n, "there are no rows");
  return Kernel{"cpu.batch_norm", batch_norm_workspace_bytes(base.rows, base.columns),
                [=](const KernelArgs& a) {
                  BatchNorm call = base;
                  call.counted = counted_rows(a, counts, rows, base.rows);
                  call.x = in(a, 0);
                  call.gamma = in(a, 1);
                  call.beta = in(a, 2);
                  call.residual = adds ? in(a, residual) : nullptr;
                  call.y = out(a, 0);
                  call.mean = out(a, 1);
                  call.variance = out(a, 2);
                  if (call.given) {
                    copy_if_apart(a, mean, 1, call.columns);
                    copy_if_apart(a, variance, 2, call.columns);
                  }
                  batch_norm(call, a.workspace, pool_of(a));
                }};
}

Result<Kernel> moments(const NodeView& n, int) {
  BatchNorm base;
  base.rows = n.in(0).shape[0];
  base.columns = n.in(0).shape[1];
  if (base.rows == 0) return declined(n, "there are no rows");
  const bool counts = n.has("rows");
  const size_t rows = n.slot("rows");
  return Kernel{"cpu.column_moments", batch_norm_workspace_bytes(base.rows, base.columns),
                [=](const KernelArgs& a) {
                  BatchNorm call = base;
                  call.counted = counted_rows(a, counts, rows, base.rows);
                  call.x = in(a, 0);
                  call.mean = out(a, 0);
                  call.variance = out(a, 1);
                  batch_norm(call, a.workspace, pool_of(a));
                }};
}

Result<Kernel> batch_norm_gradient(const NodeView& n, int) {
  BatchNormBackward base;
  base.rows = n.in(0).shape[0];
  base.columns = n.in(0).shape[1];
  base.eps = static_cast<float>(n.real("eps"));
  const bool counts = n.has("rows"), masks = n.has("y"), keeps = n.flag("dresidual");
  const size_t rows = n.slot("rows"), y = n.slot("y"), dgamma = n.slot("dgamma"),
               dbeta = n.slot("dbeta"), count = n.slot("count");
  base.given = n.has("dgamma");
  if (base.rows == 0) return declined(n, "there are no rows");
  return Kernel{"cpu.batch_norm_grad", batch_norm_backward_workspace_bytes(base.rows, base.columns),
                [=](const KernelArgs& a) {
                  BatchNormBackward call = base;
                  call.counted = counted_rows(a, counts, rows, base.rows);
                  call.x = in(a, 0);
                  call.gamma = in(a, 1);
                  call.mean = in(a, 2);
                  call.variance = in(a, 3);
                  call.dy = in(a, 4);
                  call.y = masks ? in(a, y) : nullptr;
                  call.dresidual = keeps ? out(a, 3) : nullptr;
                  call.dx = out(a, 0);
                  call.dgamma = out(a, 1);
                  call.dbeta = out(a, 2);
                  if (call.given) {
                    copy_if_apart(a, dgamma, 1, call.columns);
                    copy_if_apart(a, dbeta, 2, call.columns);
                    call.all_rows = in(a, count)[0];
                  }
                  batch_norm_backward(call, a.workspace, pool_of(a));
                }};
}

Result<Kernel> sums_of_gradient(const NodeView& n, int) {
  BatchNormBackward base;
  base.rows = n.in(0).shape[0];
  base.columns = n.in(0).shape[1];
  base.eps = static_cast<float>(n.real("eps"));
  const bool counts = n.has("rows"), masks = n.has("y");
  const size_t rows = n.slot("rows"), y = n.slot("y");
  if (base.rows == 0) return declined(n, "there are no rows");
  return Kernel{"cpu.batch_norm_sums", batch_norm_backward_workspace_bytes(base.rows, base.columns),
                [=](const KernelArgs& a) {
                  BatchNormBackward call = base;
                  call.counted = counted_rows(a, counts, rows, base.rows);
                  call.x = in(a, 0);
                  call.mean = in(a, 1);
                  call.variance = in(a, 2);
                  call.dy = in(a, 3);
                  call.y = masks ? in(a, y) : nullptr;
                  call.dgamma = out(a, 0);
                  call.dbeta = out(a, 1);
                  batch_norm_backward(call, a.workspace, pool_of(a));
                }};
}

Result<Kernel> affine(const NodeView& n, int) {
  const int64_t rows = n.in(0).shape[0], columns = n.in(0).shape[1];
  const bool shifts = n.has("shift");
  return Kernel{"cpu.affine_channels", 0, [=](const KernelArgs& a) {
                  affine_columns(rows, columns, in(a, 0), in(a, 1), shifts ? in(a, 2) : nullptr,
                                 out(a, 0), pool_of(a));
                }};
}

Result<Kernel> dropped_path(const NodeView& n, int) {
  const int64_t images = n.in(2).shape[0], size = images == 0 ? 0 : n.in(0).count() / images;
  const double p = n.real("p");
  const uint64_t place = scope_hash(n.text("key"));
  const uint32_t threshold = dropout_threshold(p);
  const float scale = static_cast<float>(1 / (1 - p));
  return Kernel{"cpu.drop_path", 4 * images, [=](const KernelArgs& a) {
                  const DropoutKey key = key_of(a, 1, place);
                  float* scales = static_cast<float*>(a.workspace);
                  for (int64_t i = 0; i < images; ++i)
                    scales[i] =
                        dropout_word(key, in_i64(a, 2)[i], 0, 0) >= threshold ? scale : 0.0F;
                  scale_blocks(images, size, in(a, 0), scales, out(a, 0), pool_of(a));
                }};
}

Result<Kernel> largest(const NodeView& n, int) {
  const Windows2d p = windows_of(HONE_TRY(pool_dims(n, n.in(0).shape)));
  return Kernel{"cpu.max_pool2d", 0,
                [=](const KernelArgs& a) { max_pool(p, in(a, 0), out(a, 0), pool_of(a)); }};
}

Result<Kernel> largest_gradient(const NodeView& n, int) {
  const Windows2d p = windows_of(HONE_TRY(pool_dims(n, n.in(0).shape)));
  return Kernel{"cpu.max_pool2d_grad", 0, [=](const KernelArgs& a) {
                  max_pool_backward(p, in(a, 0), in(a, 1), in(a, 2), out(a, 0), pool_of(a));
                }};
}

}  // namespace

Makers image_makers() {
  return {{"conv2d", for_f32(convolution)},
          {"conv2d_grad_weight", for_f32(weight_gradient)},
          {"conv2d_grad_input", for_f32(input_gradient)},
          {"batch_norm", for_f32(batch_norm_forward)},
          {"batch_norm_grad", for_f32(batch_norm_gradient)},
          {"batch_norm_sums", for_f32(sums_of_gradient)},
          {"column_moments", for_f32(moments)},
          {"affine_channels", for_f32(affine)},
          {"drop_path", for_f32(dropped_path)},
          {"max_pool2d", for_f32(largest)},
          {"max_pool2d_grad", for_f32(largest_gradient)}};
}

}  // namespace hone::cpu
