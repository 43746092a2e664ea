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

// The gradient of a gate, and what it makes again.
Result<Launches> gate_grad(const NodeView& n) {
  const Type& t = n.out(0);
  const int index = activation_index(n.text("kind"));
  if (!is_fused(t.dtype) || index == kNoActivation)
    return no_kernel(n, fmt::format("not {} of {}", n.text("kind"), name_of(t.dtype)));
  Launch l(kernel_of("gate_grad", t.dtype));
  for (size_t i = 0; i < n.inputs(); ++i) l.in(i);
  for (size_t k = 0; k + 1 < n.inputs(); ++k) l.out(k);
  n.flag("remade") ? l.out(n.inputs() - 1) : l.none();
  l.value(t.count()).value(index).mapped(t.count());
  return one(std::move(l));
}
Result<Launches> activation_grad(const NodeView& n) {
  Launches all;
  if (!add_activation_grad(all, n, LaunchArgument::input(0), LaunchArgument::input(1)))
    return no_kernel(n, fmt::format("not {} of {}", n.text("kind"), name_of(n.out(0).dtype)));
  return all;
}

}  // namespace

int activation_index(std::string_view kind) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  return found == kKinds.end() ? kNoActivation : static_cast<int>(found - kKinds.begin());
}

bool add_activation_grad(Launches& all, const NodeView& n, const LaunchArgument& x,
                         const LaunchArgument& dy) {
  const Type& t = n.out(0);
  const int kind = activation_index(n.text("kind"));
  const bool sums = n.flag("sums"), remade = n.flag("remade");
  if (!is_fused(t.dtype) || kind == kNoActivation || (sums && !has_row_parts(t.shape[1])))
    return false;
  const auto operands = [&](Launch& l) {
    l.argument(x).argument(dy).out(0);
    remade ? l.out(1) : l.none();
  };
  if (!sums) {
    Launch l(kernel_of("activation_grad", t.dtype));
    operands(l);
    l.value(t.count()).value(kind).mapped(t.count());
    all.launches.push_back(std::move(l));
    return true;
  }
  const int64_t rows = t.shape[0], columns = t.shape[1];
  all.workspace_bytes = std::max(all.workspace_bytes, row_part_bytes(rows, columns));
  Launch dx = row_part_launch(kernel_of("activation_grad_sums", t.dtype), rows, columns);
  operands(dx);
  dx.work().value(rows).value(columns).value(kind);
  all.launches.push_back(std::move(dx));
  all.launches.push_back(add_parts_launch(DType::f32, LaunchArgument::null(),
                                          LaunchArgument::output(remade ? 2 : 1), rows, columns));
  return true;
}

void add_activations(LaunchTable& t) {
  for (const std::string_view kind : kKinds)
    t[std::string(kind)] = [kind](const NodeView& n) { return elementwise(n, "activation", kind); };
  t["activation_grad"] = activation_grad;
  t["gate"] = [](const NodeView& n) { return elementwise(n, "gate", n.text("kind")); };
  t["gate_grad"] = gate_grad;
}

}  // namespace hone::cuda
