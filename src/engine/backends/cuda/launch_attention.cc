// Launches of attention: forward, backward, and over pages of a KV cache.
#include "base/core/philox.h"
#include "engine/backends/cuda/attention_launch.h"
#include "engine/backends/cuda/launch_flash.h"
#include "engine/ops/support.h"

namespace hone::cuda {
namespace {

Result<AttentionLaunch> describe(const NodeView& n, const LaunchOptions& options) {
  AttentionLaunch d{.dims = HONE_TRY(attention_dims(n)), .arguments = {}, .size = 64};
  const AttentionDims& dims = d.dims;
  if (!is_fused(dims.dtype)) return no_kernel(n, fmt::format("not for {}", name_of(dims.dtype)));
  if (dims.size > 128) return no_kernel(n, fmt::format("heads of {} channels", dims.size));
  if (n.real("softcap") > 0) return no_kernel(n, "with a softcap");
  if (dims.first_head > 0 && n.real("dropout") > 0)
    return no_kernel(n, "dropout of heads that do not begin with the first");
  if (dims.heads > 0xffff) return no_kernel(n, fmt::format("{} heads", dims.heads));
  d.size = dims.size <= 64 ? 64 : 128;
  // Their tiles are read 16 bytes at a time.
  const DType rounded = dims.dtype == DType::f32 ? rounded_to(n) : dims.dtype;
  if (!options.tensor_cores)
    d.note = "no tensor cores of sm_80 or later";
  else if (rounded == DType::f32)
    d.note = "in f32: tensor cores are used with bf16 or fp16";
  else if (dims.size % 8 != 0)
    d.note = fmt::format("heads of {} channels, which is not a multiple of eight", dims.size);
  d.types = name_of(dims.dtype);
  Attention& a = d.arguments;
  a.tq = dims.tq;
  a.tk = dims.tk;
  a.heads = static_cast<int>(dims.heads);
  a.kv_heads = static_cast<int>(dims.kv_heads);
  a.size = static_cast<int>(dims.size);
  a.segments = static_cast<int>(dims.segments);
  a.row_q = n.in("q").shape[1];
  a.row_k = a.row_v = dims.fused ? a.row_q : dims.kv_heads * dims.size;
  a.row_out = dims.heads * dims.size;
  a.causal = n.flag("causal");
  a.window = n.integer("window");
  a.reach = dims.reach;
  a.scale = static_cast<float>(n.real("scale"));
  if (dims.paged) {
    a.table_columns = n.in("block_table").shape[1];
    a.page = n.in("k").shape[1];
  }
  d.is_random = n.real("dropout") > 0;
  if (d.is_random) {
    a.place = scope_hash(n.text("key"));
    a.threshold = dropout_threshold(n.real("dropout"));
    a.kept = dropout_scale(n.real("dropout"));
  }
  if (dims.fused) {
    const int64_t bytes = size_of(dims.dtype);
    d.k_at = dims.heads * dims.size * bytes;
    d.v_at = d.k_at + dims.kv_heads * dims.size * bytes;
  }
  if (!d.note.empty()) return d;
  d.kernels = is_for_flash(d) ? AttentionKernels::flash : AttentionKernels::warps;
  if (rounded != dims.dtype) d.types += fmt::format("_as_{}", name_of(rounded));
  return d;
}

bool is_by_warps(const AttentionLaunch& d) { return d.kernels != AttentionKernels::tiles; }

Launch tiles(std::string_view kernel, const AttentionLaunch& d, int64_t tokens, int64_t heads) {
  Launch l(fmt::format("{}{}_{}_{}", is_by_warps(d) ? "warp_" : "", kernel, d.types, d.size));
  if (is_by_warps(d)) l.block_x = kFlashBlock;
  l.grid_x = static_cast<unsigned>(tokens);
  l.grid_y = static_cast<unsigned>(heads);
  return l;
}

// Few queries over pages, whose keys are then read by many blocks. Operands are multiplied as they are.
constexpr int64_t kMostPagedQueries = 64;
bool is_for_pages(const NodeView& n, const AttentionLaunch& d) {
  const AttentionDims& dims = d.dims;
  const DType rounded = dims.dtype == DType::f32 ? rounded_to(n) : dims.dtype;
  return dims.paged && !dims.fused && dims.tq <= kMostPagedQueries && !d.is_random &&
         dims.reach == 0 && (rounded == DType::f32 || rounded == dims.dtype) &&
         n.in("k").shape[0] * d.arguments.page < int64_t{1} << 31;
}
Launches paged_attention(const NodeView& n, const AttentionLaunch& d) {
  constexpr int64_t kBlocks = 264,
                    kLeastKeys = 256;  // two blocks for each multiprocessor of an H100
  const AttentionDims& dims = d.dims;
  const Attention& a = d.arguments;
  const int64_t group = dims.heads / dims.kv_heads;
  const int64_t packs = dims.kv_heads * ((group + kPagedHeads - 1) / kPagedHeads);
  const int64_t keys = a.table_columns * a.page;
  const int64_t splits = std::clamp<int64_t>((kBlocks + dims.tq * packs - 1) / (dims.tq * packs), 1,
                                             std::max<int64_t>(1, keys / kLeastKeys));
  Launches all;
  if (splits > 1) all.workspace_bytes = splits * dims.tq * dims.heads * (dims.size + 2) * 4;
  Launch l(fmt::format("paged_attention_{}_{}", name_of(dims.dtype), d.size));
  l.grid_x = static_cast<unsigned>(dims.tq);
  l.grid_y = static_cast<unsigned>(packs);
  l.grid_z = static_cast<unsigned>(splits);
  add_qkv(l, n, d);
  l.in(n.slot("cu_q")).in(n.slot("cu_k")).in(n.slot("block_table")).out(0).out(1);
  splits > 1 ? l.work() : l.none();
  all.launches.push_back(std::move(l.value(a)));
  if (splits == 1) return all;
  Launch sum(kernel_of("sum_pages", dims.dtype));
  sum.work().out(0).out(1).value(static_cast<int>(splits)).value(a);
  all.launches.push_back(std::move(sum.over(dims.tq * dims.heads * dims.size)));
  return all;
}

Result<Launches> attention(const NodeView& n, const LaunchOptions& options) {
  const AttentionLaunch d = HONE_TRY(describe(n, options));
  if (d.dims.tq == 0) return Launches{};
  if (is_for_pages(n, d)) return paged_attention(n, d);
  if (d.kernels == AttentionKernels::flash) return flash_forward(n, d, options.warp_groups);
  Launch l = tiles("attention", d, tiles_of(d.dims.tq, is_by_warps(d) ? kFlashTile : kQueryTile),
                   d.dims.heads);
  add_qkv(l, n, d);
  l.in(n.slot("cu_q")).in(n.slot("cu_k"));
  add_optional(l, n, "block_table");
  add_random(l, n, d);
  l.out(0).out(1).value(d.arguments);
  l.shared_bytes = is_by_warps(d) ? warp_attention_bytes(d.size) : attention_bytes(d.size);
  Launches all = one(std::move(l));
  all.note = d.note;
  return all;
}

Result<Launches> attention_grad(const NodeView& n, const LaunchOptions& options) {
  const AttentionLaunch d = HONE_TRY(describe(n, options));
  const AttentionDims& dims = d.dims;
  if (dims.tq == 0 || dims.tk == 0) return no_kernel(n, "no tokens");
  if (d.kernels == AttentionKernels::flash) return flash_gradient(n, d, options.warp_groups);
  Launches all;
  all.note = d.note;
  const int64_t deltas = whole_part(dims.heads * dims.tq * 4);
  const int64_t query_tiles = tiles_of(dims.tq, is_by_warps(d) ? kFlashTile : kBackTile);
  const int64_t columns = bias_columns(d);
  all.workspace_bytes = deltas + query_tiles * columns * 4;

  Launch delta(kernel_of("attention_delta", dims.dtype));
  delta.in(n.slot("out")).in(n.slot("dout")).work().value(dims.tq).value(dims.heads);
  delta.value(dims.size).over(dims.tq * dims.heads * kWarp);
  all.launches.push_back(std::move(delta));

  const auto both = [&](Launch& l) {
    add_qkv(l, n, d);
    l.in(n.slot("dout")).in(n.slot("lse")).work().in(n.slot("cu_q")).in(n.slot("cu_k"));
    add_random(l, n, d);
    l.shared_bytes =
        is_by_warps(d) ? warp_attention_back_bytes(d.size) : attention_back_bytes(d.size);
  };
  Launch q = tiles("attention_back_q", d, query_tiles, dims.heads);
  both(q);
  q.out(0);
  columns > 0 ? q.work(deltas) : q.none();
  q.value(d.arguments);
  all.launches.push_back(std::move(q));

  Launch kv = tiles("attention_back_kv", d,
                    tiles_of(dims.tk, is_by_warps(d) ? kFlashTile : kKeyTile), dims.kv_heads);
  both(kv);
  dims.fused ? kv.out(0, d.k_at).out(0, d.v_at) : kv.out(1).out(2);
  kv.value(d.arguments);
  all.launches.push_back(std::move(kv));

  if (columns > 0) all.launches.push_back(sum_bias_parts(d, deltas, query_tiles));
  if (!n.flag("sums")) return all;
  if (!has_row_parts(n.out(0).shape[1])) return no_kernel(n, "sums of rows as wide as these");
  append_row_sums(all, n.out(0), LaunchArgument::output(0), LaunchArgument::null(), DType::f32,
                  LaunchArgument::output(columns > 0 ? 2 : 1));
  return all;
}

}  // namespace

void add_attention(LaunchTable& t, const LaunchOptions& options) {
  t["attention"] = [options](const NodeView& n) { return attention(n, options); };
  t["attention_grad"] = [options](const NodeView& n) { return attention_grad(n, options); };
}

}  // namespace hone::cuda
