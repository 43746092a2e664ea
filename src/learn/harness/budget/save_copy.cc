#include "learn/harness/budget/save_copy.h"

#include "base/core/memory.h"
#include "base/core/text.h"
#include "base/store/store.h"
#include "learn/checkpoint/state_tensor.h"
#include "learn/harness/budget/disk_need.h"

namespace hone {

std::string SaveCopy::text() const {
  if (has_room) return format_bytes(needed);
  return fmt::format("none, {} are not free: steps wait until a checkpoint is written",
                     format_bytes(needed));
}

bool saves_beside_training(const TrainSettings& s) {
  return s.do_train && s.save_strategy != "no" &&
         !file_store().renames_folders_at_once(s.output_dir);
}

SaveCopy plan_save_copy(const TrainSettings& s, const RunPlan& plan,
                        const std::vector<std::string>& weights, const DeviceSpec& spec,
                        const ArenaLimits& limits) {
  int64_t bytes = 0;
  for (const StateSlot* state : saved_states(s, plan, weights)) {
    if (state->home == Space::disk) return {};  // slow to read, and on disk for lack of memory
    bytes += copied_bytes(state->type);
  }
  const Needs needs = needs_of(plan, spec, limits);
  const bool limited = limits.shared ? s.device_memory || s.host_memory : limits.host != kNoLimit;
  const int64_t room = limits.shared             ? limits.device - needs.device
                       : limits.host == kNoLimit ? read_memory().free_bytes() - needs.host
                                                 : limits.host - needs.host;
  return {bytes, bytes <= (limited ? room : room / 2)};
}

}  // namespace hone
