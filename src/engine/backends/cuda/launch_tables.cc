#include "engine/backends/cuda/launch_tables.h"

#include "engine/device/errors.h"

namespace hone::cuda {

LaunchOptions launch_options(const DeviceSpec& spec) {
  return {.library = true,
          .library_bytes = spec.workspace_bytes,
          .tensor_cores = spec.multiplies_bf16,
          .warp_groups = spec.isa == "sm_90a",
          .slopes = spec.isa == "sm_90a"};
}

LaunchTable launch_table(const LaunchOptions& options) {
  LaunchTable t;
  add_elementwise(t);
  add_moves(t);
  add_sums(t);
  add_groups(t);
  add_random(t);
  add_blocks(t);
  add_activations(t);
  add_norms(t);
  add_rows(t);
  add_recurrent(t);
  add_columns(t);
  add_pools(t);
  add_updates(t);
  add_adafactor(t);
  add_lamb(t);
  add_apollo(t, options);
  add_attention(t, options);
  add_products(t, options);
  add_cross_entropy(t, options);
  add_convs(t, options);
  return t;
}

std::vector<int64_t> strides_of(const Shape& shape) {
  std::vector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d-- > 1;) strides[d - 1] = strides[d] * shape[d];
  return strides;
}

Error no_kernel(const NodeView& n, std::string_view why) {
  return Error(err::kDeclined, fmt::format("cuda: {}: {}", n.node.op->name, why));
}

Result<Launches> launches_of(const LaunchTable& table, const NodeView& n) {
  const auto found = table.find(n.node.op->name);
  if (found == table.end()) return no_kernel(n, "no kernel of its own");
  Launches l = HONE_TRY(found->second(n));
  l.workspace_bytes += l.product_bytes;
  return l;
}

}  // namespace hone::cuda
