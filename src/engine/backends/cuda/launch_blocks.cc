// Launches that make values of quantized blocks, or blocks of values.
#include <array>

#include "base/core/dynamic_map.h"
#include "engine/backends/cuda/launch_tables.h"
#include "engine/ops/block_schemes.h"

namespace hone::cuda {
namespace {

constexpr std::array<std::string_view, 12> kFormats{"q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q2_k",
                                                    "q3_k", "q4_k", "q5_k", "q6_k", "f16",  "bf16"};

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
