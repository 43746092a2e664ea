#include "learn/harness/budget/host_room.h"

#include <algorithm>

#include "base/core/text.h"

namespace hone {
namespace {

// "exp_avg.wte.weight[0:512]" is of "wte.weight".
std::string weight_of(const State& s) {
  if (s.role == Role::param) return s.name;
  const std::string& tensor = s.shard.whole() ? s.name : s.shard.tensor;
  return tensor.substr(tensor.find('.') + 1);
}

}  // namespace

std::map<std::string, Space> homes_beside_host(const Program& update, const TrainPasses& how,
                                               const HostRoom& room) {
  struct Together {
    std::vector<std::string> names;
    int64_t bytes = 0;
  };
  std::map<std::string, Together> of_weight;
  std::vector<std::string> order;
  const auto add = [&](const State& s, const Type& type) {
    if (how.offload.home(s, type) != Space::host) return;
    const std::string weight = weight_of(s);
    Together& t = of_weight[weight];
    if (t.names.empty()) order.push_back(weight);
    t.names.push_back(s.name);
    t.bytes += type.bytes();
  };
  for (const State& s : update.states) {
    const Type& type = update.type(s.value);
    add(s, type);
    if (!how.copies.contains(s.name)) continue;
    State copy;
    copy.role = Role::copy;
    copy.name = copy_name(s.name);
    add(copy, {how.copies_as(), Shape(type.shape)});
  }
  std::map<std::string, Space> homes;
  HostRoom left = room;
  for (const std::string& weight : order) {
    const Together& t = of_weight[weight];
    if (t.bytes <= left.host) {
      left.host -= t.bytes;
      continue;
    }
    const bool stays = t.bytes <= left.device;
    if (stays) left.device -= t.bytes;
    for (const std::string& name : t.names) homes[name] = stays ? Space::device : Space::disk;
  }
  return homes;
}

std::string full_host_text(const RunPlan& plan, Offload asked) {
  if (std::any_of(plan.states.begin(), plan.states.end(),
                  [](const StateSlot& slot) { return slot.role == Role::copy; }))
    asked.masters = asked.beside_moments();
  int64_t stay = 0, on_disk = 0;
  for (const StateSlot& slot : plan.states) {
    State state;
    state.name = slot.name;
    state.role = slot.role;
    if (slot.home == Space::host || asked.home(state, slot.type) != Space::host) continue;
    (slot.home == Space::device ? stay : on_disk) += slot.type.bytes();
  }
  if (stay + on_disk == 0) return "";
  return fmt::format("the host has no room for {} of states: {} stay on the device, {} are on disk",
                     format_bytes(stay + on_disk), format_bytes(stay), format_bytes(on_disk));
}

}  // namespace hone
