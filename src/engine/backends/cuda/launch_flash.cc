#include "engine/backends/cuda/launch_flash.h"

namespace hone::cuda {
namespace {

// Segments of more tokens have their dropout made again by dk/dv.
constexpr int64_t kMostBitColumns = 2048 / kFlashTile;
// Tokens in the segments that give their tiles by turns: blocks that run at once, of a head.
constexpr int kGroupTokens = 1 << 16;
// Numbers of tokens, and of 16 queries of a head, have 32 bits.
constexpr int64_t kMostTokens = int64_t{1} << 29, kMostGridRows = int64_t{1} << 31;

Launch flash_launch(std::string_view pass, const AttentionLaunch& d, bool by_warp_groups) {
  return Launch(fmt::format("{}_attention_{}{}_{}{}{}", by_warp_groups ? "wg" : "flash", pass,
                            d.types, d.size, d.is_random ? "_dropout" : "",
                            d.dims.reach > 0 ? "_bias" : ""));
}

// Tiles of `tokens` in all segments at most; those before and after them count too.
int64_t segment_tiles(const AttentionLaunch& d, int64_t tokens, int64_t tile) {
  return tokens / tile + d.dims.segments + 2;
}
void set_grid(Launch& l, int64_t tiles, int64_t heads) {
  l.grid_x = static_cast<unsigned>(tiles * heads);
  l.block_x = kFlashBlock;
}

Attention flash_arguments(const AttentionLaunch& d) {
  Attention a = d.arguments;
  if (a.causal) a.group = kGroupTokens / a.heads;
  if (d.is_random)
    a.bit_columns = static_cast<int>(std::min(tiles_of(d.dims.tk, kFlashTile), kMostBitColumns));
  return a;
}

}  // namespace

bool is_for_flash(const AttentionLaunch& d) {
  const AttentionDims& dims = d.dims;
  const bool is_narrow = dims.dtype == DType::bf16 || dims.dtype == DType::f16;
  return is_narrow && !dims.paged && d.arguments.scale > 0 && (dims.reach == 0 || d.size == 64) &&
         dims.tq < kMostTokens && dims.tk < kMostTokens && dims.reach < kMostTokens &&
         dims.heads * (dims.tq / 16 + dims.segments + 2) < kMostGridRows;
}

Launches flash_forward(const NodeView& n, const AttentionLaunch& d, bool by_warp_groups) {
  Launch l = flash_launch("", d, by_warp_groups);
  set_grid(l, segment_tiles(d, d.dims.tq, kFlashTile), d.dims.heads);
  l.shared_bytes = flash_bytes(d.size);
  add_qkv(l, n, d);
  l.in(n.slot("cu_q")).in(n.slot("cu_k"));
  add_random(l, n, d);
  l.out(0).out(1).value(flash_arguments(d));
  return one(std::move(l));
}

Result<Launches> flash_gradient(const NodeView& n, const AttentionLaunch& d, bool by_warp_groups) {
  const AttentionDims& dims = d.dims;
  const Attention a = flash_arguments(d);
  const int64_t tiles = segment_tiles(d, dims.tq, kFlashTile), columns = bias_columns(d);
  // Workspace: numbers, dropout's bits, parts of dbias.
  const int64_t bits = whole_part(dims.heads * tiles * 2 * kFlashTile * 4);
  const int64_t bit_bytes = dims.heads * segment_tiles(d, dims.tq, 16) * a.bit_columns * kWarp * 4;
  const int64_t parts = bits + whole_part(bit_bytes);
  Launches all;
  // Parts of the sums of all rows of a fused gradient: a row for each tile, of queries and of keys as many.
  const bool has_sums = n.flag("sums") && (d.size <= kMostSummedWithDropout || !d.is_random);
  const int64_t sums = parts + whole_part(tiles * columns * 4), row = n.out(0).shape.back();
  if (has_sums && segment_tiles(d, dims.tk, kFlashTile) != tiles)
    return no_kernel(n, "sums of queries and keys that differ in number");
  all.workspace_bytes = has_sums ? sums + tiles * row * 4 : parts + tiles * columns * 4;

  Launch q = flash_launch("back_q_", d, by_warp_groups);
  set_grid(q, tiles, dims.heads);
  q.shared_bytes = flash_back_q_bytes(d.size, columns > 0);
  add_qkv(q, n, d);
  q.in(n.slot("out")).in(n.slot("dout")).in(n.slot("lse")).in(n.slot("cu_q")).in(n.slot("cu_k"));
  add_random(q, n, d);
  q.out(0).work();
  d.is_random ? q.work(bits) : q.none();
  columns > 0 ? q.work(parts) : q.none();
  has_sums ? q.work(sums) : q.none();
  all.launches.push_back(std::move(q.value(a)));

  Launch kv = flash_launch("back_kv_", d, by_warp_groups);
  set_grid(kv, segment_tiles(d, dims.tk, kFlashTile), dims.kv_heads);
  kv.shared_bytes = flash_back_kv_bytes(d.size, d.is_random);
  add_qkv(kv, n, d);
  kv.in(n.slot("dout")).work();
  d.is_random ? kv.work(bits) : kv.none();
  kv.in(n.slot("cu_q")).in(n.slot("cu_k"));
  add_random(kv, n, d);
  dims.fused ? kv.out(0, d.k_at).out(0, d.v_at) : kv.out(1).out(2);
  const int64_t widened = 4 / size_of(dims.dtype);  // bytes of a sum for one of the gradient
  has_sums ? kv.work(sums + d.k_at * widened).work(sums + d.v_at * widened) : kv.none().none();
  all.launches.push_back(std::move(kv.value(a)));

  if (columns > 0) all.launches.push_back(sum_bias_parts(d, parts, tiles));
  const LaunchArgument summed = LaunchArgument::output(columns > 0 ? 2 : 1);
  if (!has_sums) {
    if (!n.flag("sums")) return all;
    if (!has_row_parts(row)) return no_kernel(n, "sums of rows as wide as these");
    append_row_sums(all, n.out(0), LaunchArgument::output(0), LaunchArgument::null(), DType::f32,
                    summed);
    return all;
  }
  Launch sum("add_parts_f32");
  sum.work(sums).none().argument(summed).value(tiles).value(row);
  all.launches.push_back(std::move(sum.blocks((row + kWarp - 1) / kWarp)));
  return all;
}

}  // namespace hone::cuda
