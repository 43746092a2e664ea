// Launches of activations and their gradients, elementwise.
#include <array>

#include "engine/backends/cuda/launch_tables.h"

namespace hone::cuda {
namespace {

// In the order of kernels/activations.cuh.
constexpr std::array<std::string_view, 4> kKinds{"gelu", "gelu_tanh", "silu", "relu"};

// One kernel over all inputs and outputs, elementwise.
Result<Launches> elementwise(const NodeView& n, const std::string& name, std::string_view kind) {
  const Type& t = n.out(0);
  const int index = activation_index(kind);
  if (!is_fused(t.dtype) || index == kNoActivation)
    return no_kernel(n, fmt::format("not {} of {}", kind, name_of(t.dtype)));
  Launch l(kernel_of(name, t.dtype));
  for (size_t i = 0; i < n.inputs(); ++i) l.in(i);
  for (size_t k = 0; k < n.node.out.size(); ++k) l.out(k);
  l.value(t.count()).value(index).mapped(t.count());
  return one(std::move(l));
}

// The gradient of an activation or a gate, and what it makes again.
Result<Launches> gradient(const NodeView& n, const std::string& name) {
  const Type& t = n.out(0);
  const int index = activation_index(n.text("kind"));
  if (!is_fused(t.dtype) || index == kNoActivation)
    return no_kernel(n, fmt::format("not {} of {}", n.text("kind"), name_of(t.dtype)));
  Launch l(kernel_of(name, t.dtype));
  for (size_t i = 0; i < n.inputs(); ++i) l.in(i);
  for (size_t k = 0; k + 1 < n.inputs(); ++k) l.out(k);
  n.flag("remade") ? l.out(n.inputs() - 1) : l.none();
  l.value(t.count()).value(index).mapped(t.count());
  return one(std::move(l));
}
// With the sums of its rows in the same kernel.
Result<Launches> activation_grad(const NodeView& n) {
  if (!n.flag("sums")) return gradient(n, "activation_grad");
  const Type& t = n.out(0);
  const int index = activation_index(n.text("kind"));
  const int64_t rows = t.shape[0], columns = t.shape[1];
  const bool remade = n.flag("remade");
  if (!is_fused(t.dtype) || index == kNoActivation || !has_row_parts(columns))
    return no_kernel(n, fmt::format("not {} of {}", n.text("kind"), name_of(t.dtype)));
  Launches all;
  all.workspace_bytes = row_part_bytes(rows, columns);
  Launch dx = row_part_launch(kernel_of("activation_grad_sums", t.dtype), rows, columns);
  dx.in(0).in(1).out(0);
  remade ? dx.out(1) : dx.none();
  dx.work().value(rows).value(columns).value(index);
  all.launches.push_back(std::move(dx));
  all.launches.push_back(add_parts_launch(DType::f32, LaunchArgument::null(),
                                          LaunchArgument::output(remade ? 2 : 1), rows, columns));
  return all;
}

}  // namespace

int activation_index(std::string_view kind) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  return found == kKinds.end() ? kNoActivation : static_cast<int>(found - kKinds.begin());
}

void add_activations(LaunchTable& t) {
  for (const std::string_view kind : kKinds)
    t[std::string(kind)] = [kind](const NodeView& n) { return elementwise(n, "activation", kind); };
  t["activation_grad"] = activation_grad;
  t["gate"] = [](const NodeView& n) { return elementwise(n, "gate", n.text("kind")); };
  t["gate_grad"] = [](const NodeView& n) { return gradient(n, "gate_grad"); };
}

}  // namespace hone::cuda
