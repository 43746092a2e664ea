#include "engine/backends/cuda/update_tensors.h"

#include <cstddef>

#include "engine/ops/update_parts.h"

namespace hone::cuda {
namespace {

// The result that is the copy of p' of tensor i, or -1.
int copy_of(const NodeView& n, size_t i) {
  const std::vector<int64_t> copied = copied_tensors(n);
  const auto found = std::find(copied.begin(), copied.end(), static_cast<int64_t>(i));
  return found == copied.end()
             ? -1
             : static_cast<int>(n.node.out.size()) - static_cast<int>(copied.end() - found);
}

bool is_halved(const NodeView& n, size_t i) {
  const std::vector<int64_t> halved = halved_tensors(n);
  return std::find(halved.begin(), halved.end(), static_cast<int64_t>(i)) != halved.end();
}

}  // namespace

UpdateTensors::UpdateTensors(const NodeView& n, const UpdatedPart& first, const Update& rule)
    : n_(n), p_(n.in(first.i).dtype), g_(n.in(first.g).dtype) {
  all_.rule = rule;
  all_.copies_f16 = !copied_tensors(n).empty() && n.text("copied_as") == "f16";
}

bool UpdateTensors::takes(const UpdatedPart& part) const {
  return all_.count < kMostUpdated && n_.in(part.i).dtype == p_ && n_.in(part.g).dtype == g_;
}

void UpdateTensors::add(const UpdatedPart& part, const Update& u, const std::array<int, 3>& lists) {
  const auto count = static_cast<size_t>(n_.integer("count"));
  const auto index = static_cast<size_t>(all_.count++);
  UpdateTensor& t = all_.of[index];
  t.size = part.size;
  t.decay = u.decay;
  t.key = u.key;
  t.first = u.first;
  t.first_block = blocks_;
  const bool halved = is_halved(n_, part.i);
  if (halved) all_.halved |= uint32_t{1} << index;
  blocks_ += (part.size + kUpdated - 1) / kUpdated;
  const auto at = [&](size_t member) {
    return offsetof(Updates, of) + index * sizeof(UpdateTensor) + member;
  };
  const auto operand = [&](size_t member, size_t i, int64_t offset) {
    addresses_.push_back({at(member), LaunchArgument::Of::input, i, offset});
  };
  const auto result = [&](size_t member, size_t k, int64_t offset) {
    addresses_.push_back({at(member), LaunchArgument::Of::output, k, offset});
  };
  const int64_t first = part.first * (halved ? 2 : size_of(p_));
  operand(offsetof(UpdateTensor, p), part.i, first);
  operand(offsetof(UpdateTensor, g), part.g, part.first * size_of(g_));
  result(offsetof(UpdateTensor, new_p), part.i, first);
  for (size_t m = 0; m < lists.size(); ++m) {
    if (lists[m] < 0) continue;
    const auto list = static_cast<size_t>(lists[m]);
    operand(offsetof(UpdateTensor, states) + m * sizeof(void*), (2 + list) * count + part.i, 0);
    result(offsetof(UpdateTensor, new_states) + m * sizeof(void*), (1 + list) * count + part.i, 0);
  }
  if (halved)
    result(offsetof(UpdateTensor, copy), part.i, 2 * n_.in(part.i).count() + first);
  else if (const int copy = copy_of(n_, part.i); copy >= 0)
    result(offsetof(UpdateTensor, copy), static_cast<size_t>(copy), 0);
}

LaunchArgument UpdateTensors::argument() const {
  LaunchArgument all = LaunchArgument::of_value(all_);
  all.addresses = addresses_;
  return all;
}

Launch powers_launch(const NodeView& n) {
  Launch l("update_powers");
  l.in(n.slot("step")).work().value(n.real("beta1")).value(n.real("beta2"));
  l.block_x = kWarp;
  return l;
}

}  // namespace hone::cuda
