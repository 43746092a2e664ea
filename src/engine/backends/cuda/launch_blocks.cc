// Launches that make values of quantized blocks, or blocks of values.
#include <array>

#include "base/core/dynamic_map.h"
#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/block_schemes.h"
#include "engine/ops/support.h"

namespace hone::cuda {
namespace {

constexpr std::array<std::string_view, 13> kFormats{"q8_0", "q4_0", "q4_1", "q5_0", "q5_1",
                                                    "q2_k", "q3_k", "q4_k", "q5_k", "q6_k",
                                                    "f16",  "bf16", "mxfp4"};

Result<Launches> quantize_dynamic(const NodeView& n) {
  const Type& x = n.in(0);
  if (x.dtype != DType::f32) return no_kernel(n, "for f32 only");
  if (x.count() == 0) return Launches{};
  Launch l("quantize_dynamic_f32");
  l.in(0).out(0).out(1).value(x.count()).value(map_of(n.flag("signed")));
  const int64_t blocks = (x.count() + kBlock - 1) / kBlock;
  if (blocks > 0x7fffffff) return no_kernel(n, "more than 2^31 blocks");
  l.grid_x = static_cast<unsigned>(blocks);
  return one(std::move(l));
}

Result<Launches> dequantize_dynamic(const NodeView& n) {
  const Type& t = n.out(0);
  if (!is_one_of(t.dtype, {DType::f32, DType::bf16}) || n.in(1).dtype != DType::f32)
    return no_kernel(n, fmt::format("not for {}", name_of(t.dtype)));
  Launch l(kernel_of("dequantize_dynamic", t.dtype));
  l.in(0).in(1).out(0).value(t.count()).value(map_of(n.flag("signed"))).over(t.count());
  return one(std::move(l));
}

Result<Launches> dequantize(const NodeView& n) {
  const Type& t = n.out(0);
  return one(HONE_TRY(widen_launch(n, t, LaunchArgument::output(0))));
}

}  // namespace

Map map_of(bool is_signed) {
  Map map;
  std::copy_n(dynamic_map(is_signed).begin(), 256, map.of);
  return map;
}

Result<Launches> few_rows(const NodeView& n) {
  const Type &x = n.in("x"), &y = n.out(0);
  const BlockScheme* scheme = block_scheme(n.text("scheme"));
  const bool is_i8 = scheme == nullptr && n.in("w").dtype == DType::i8;
  const DType kept = n.in("w").dtype;
  // Products that round their operands, and those of one type, are the library's.
  const bool is_floats = scheme == nullptr && is_one_of(kept, {DType::bf16, DType::f16}) &&
                         kept != x.dtype && rounded_to(n) == DType::f32;
  if (!is_i8 && !is_floats && scheme == nullptr) return no_kernel(n, "a weight of its type");
  if (!n.flag("trans_w") || n.text("act") != "none") return no_kernel(n, "columns, or act");
  if (x.shape[0] > kMostFewRows || y.count() == 0) return no_kernel(n, "many rows");
  if (n.has("bias") && n.in("bias").dtype != y.dtype && n.text("as").empty())
    return no_kernel(n, fmt::format("a bias in {}", name_of(n.in("bias").dtype)));
  FewRows f{};
  f.rows = static_cast<int>(x.shape[0]);
  f.columns = y.shape[1];
  f.inner = x.shape[1];
  f.x = element_of(x.dtype);
  f.z = element_of(y.dtype);
  f.rounded = element_of(rounded_to(n));
  f.weight = x.dtype == DType::bf16 && scheme != nullptr ? Element::bf16 : f.rounded;
  if (n.has("bias")) f.bias = element_of(n.in("bias").dtype);
  Codes codes{};
  bool nested = false;
  if (is_floats) {
    f.form = StoredForm::floats;
    f.stored = element_of(kept);
  } else if (is_i8) {
    f.form = StoredForm::i8;
    f.scale = element_of(n.in("scales").dtype);
  } else if (scheme->scales_inside()) {
    const auto format = std::find(kFormats.begin(), kFormats.end(), scheme->name);
    if (format == kFormats.end()) return no_kernel(n, "no kernel for " + scheme->name);
    f.form = StoredForm::blocks;
    f.format = static_cast<int>(format - kFormats.begin());
    f.block = static_cast<int>(scheme->block);
    f.bytes = static_cast<int>(scheme->bytes);
  } else {
    f.form = StoredForm::scaled;
    f.scaled = scheme->scaled;
    nested = n.in("scales").dtype == DType::u8;
    if (!nested && n.in("scales").dtype != DType::f32) return no_kernel(n, "scales are not f32");
    if (scheme->code != nullptr) std::copy_n(scheme->code, 16, codes.of);
  }
  Launch l(fmt::format("few_rows_{}", f.rows == 1 ? 1 : f.rows <= 4 ? 4 : kMostFewRows));
  const auto optional = [&](const char* name, bool has) { has ? l.in(n.slot(name)) : l.none(); };
  l.in(n.slot("x")).in(n.slot("w"));
  optional("scales", n.has("scales") && !nested);
  optional("scales", nested);
  optional("nested_scales", nested);
  optional("offset", nested);
  optional("bias", n.has("bias"));
  optional("residual", n.has("residual"));
  l.out(0).value(f).value(codes).value(map_of(true));
  l.blocks((f.columns + kBlock / kWarp - 1) / (kBlock / kWarp));
  return one(std::move(l));
}

Result<Launch> widen_launch(const NodeView& n, const Type& t, const LaunchArgument& to) {
  if (!is_one_of(t.dtype, {DType::f32, DType::bf16}))
    return no_kernel(n, fmt::format("weights in blocks, in {}", name_of(t.dtype)));
  const BlockScheme& scheme = *block_scheme(n.text("scheme"));
  const size_t payload = n.slot(n.node.op->name == "dequantize" ? "payload" : "w");
  if (scheme.scales_inside()) {
    const auto format = std::find(kFormats.begin(), kFormats.end(), scheme.name);
    if (format == kFormats.end()) return no_kernel(n, "no kernel for " + scheme.name);
    Launch l(kernel_of("dequantize_blocks", t.dtype));
    l.in(payload).argument(to).value(t.count()).value(static_cast<int>(format - kFormats.begin()));
    l.value(static_cast<int>(scheme.block)).value(static_cast<int>(scheme.bytes)).over(t.count());
    return l;
  }
  const size_t scales = n.slot("scales");
  const bool nested = n.in(scales).dtype == DType::u8;
  if (!nested && n.in(scales).dtype != DType::f32) return no_kernel(n, "scales are not f32");
  Launch l(kernel_of("dequantize", t.dtype));
  l.in(payload);
  if (nested)
    l.none().in(scales).in(n.slot("nested_scales")).in(n.slot("offset"));
  else
    l.in(scales).none().none().none();
  Codes codes{};
  if (scheme.code != nullptr) std::copy_n(scheme.code, 16, codes.of);
  l.argument(to).value(Scaled{t.count(), t.shape[1], scheme.scaled});
  l.value(codes).value(map_of(true)).over(t.count());
  return l;
}

void add_blocks(LaunchTable& t) {
  t["quantize_dynamic"] = quantize_dynamic;
  t["dequantize_dynamic"] = dequantize_dynamic;
  t["dequantize"] = dequantize;
}

}  // namespace hone::cuda
