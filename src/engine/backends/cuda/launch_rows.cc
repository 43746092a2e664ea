// Launches of ops on rows: rotary positions, dropout, embeddings.
#include "base/core/philox.h"
#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

Result<Launches> rope(const NodeView& n) {
  const Type& x = n.in(0);
  if (!is_fused(x.dtype) || n.in(2).dtype != DType::f32)
    return no_kernel(n, fmt::format("not for {} and {}", name_of(x.dtype), name_of(n.in(2).dtype)));
  const int64_t rows = x.shape[0], half = n.in(2).shape[0], heads = n.integer("heads");
  Launch l(kernel_of("rope", x.dtype));
  l.in(0).in(1).in(2).out(0).value(rows).value(heads).value(half).value(x.shape[1] / heads);
  l.value(static_cast<float>(n.real("attention_scaling")));
  l.value(n.flag("inverse") ? -1.0f : 1.0f).value(n.flag("interleaved") ? 1 : 0);
  l.over(rows * (half % kTurned == 0 ? half / kTurned : half));
  return one(std::move(l));
}

Result<Launches> dropout(const NodeView& n) {
  const Type& x = n.in(0);
  if (!is_fused(x.dtype)) return no_kernel(n, fmt::format("not for {}", name_of(x.dtype)));
  const int64_t rows = x.shape[0], channels = x.shape[1];
  const double p = n.real("p");
  const bool sums = n.flag("sums");
  if (sums && !has_row_parts(channels)) return no_kernel(n, "sums of rows as wide as these");
  Launches all;
  Launch l(kernel_of(sums ? "dropout_sums" : "dropout", x.dtype));
  l.in(0).in(1).in(2).in(3);
  n.has(4) ? l.in(4) : l.none();
  l.out(0);
  if (sums) l.work();
  l.value(rows).value(channels).value(scope_hash(n.text("key")));
  l.value(dropout_threshold(p)).value(dropout_scale(p));
  const int64_t groups = (channels + 63) / 64 * 16, each = 16 / size_of(x.dtype);
  if (sums) {
    l.blocks((groups + kWarp * kSummedColumns - 1) / (kWarp * kSummedColumns));
    l.grid_y = static_cast<unsigned>(row_parts_of(rows));
    all.workspace_bytes = row_part_bytes(rows, channels);
  } else {
    l.over(channels % each == 0 ? rows * groups / each : rows * groups);
  }
  all.launches.push_back(std::move(l));
  if (sums)
    all.launches.push_back(add_parts_launch(DType::f32, LaunchArgument::null(),
                                            LaunchArgument::output(1), rows, channels));
  return all;
}

// Rows of a table as they are, or of one in f32 rounded.
Result<Launches> embedding(const NodeView& n) {
  const Type& t = n.out(0);
  const bool rounds = n.in(0).dtype == DType::f32 && is_one_of(t.dtype, {DType::bf16, DType::f16});
  if (rounds && n.text("scheme").empty() && !n.has(2)) {
    Launch l(kernel_of("embedding", t.dtype));
    l.in(0).in(1).out(0).value(t.count()).value(t.shape[1]).mapped(t.count());
    return one(std::move(l));
  }
  if (n.in(0).dtype != t.dtype || !n.text("scheme").empty() || n.has(2))
    return no_kernel(n, fmt::format("a table in {}", name_of(n.in(0).dtype)));
  return gather_rows(n);
}

}  // namespace

void add_rows(LaunchTable& t) {
  t["rope"] = rope;
  t["dropout"] = dropout;
  t["embedding"] = embedding;
}

}  // namespace hone::cuda
