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

}  // namespace

int activation_index(std::string_view kind) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), kind);
  return found == kKinds.end() ? kNoActivation : static_cast<int>(found - kKinds.begin());
}

void add_activations(LaunchTable& t) {
  for (const std::string_view kind : kKinds)
    t[std::string(kind)] = [kind](const NodeView& n) { return elementwise(n, "activation", kind); };
  for (const std::string name : {"activation_grad", "gate", "gate_grad"})
    t[name] = [name](const NodeView& n) { return elementwise(n, name, n.text("kind")); };
}

}  // namespace hone::cuda
