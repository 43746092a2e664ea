#include "learn/harness/budget/memory_copies.h"

#include <algorithm>

namespace hone {

std::optional<MemoryCopies> memory_copies(const TrainSettings& s, const RunPlan& plan,
                                          const std::vector<std::string>& weights, int64_t ranks,
                                          int64_t machines) {
  if (s.memory_save_steps == 0) return {};
  TrainSettings whole = s;
  whole.save_only_model = false;
  int64_t own = 0, shared = 0;  // parts of states that are cut; states that all ranks hold
  for (const StateSlot* state : saved_states(whole, plan, weights))
    (state->shard.whole() ? shared : own) += state->type.bytes();
  const int64_t wanted = s.memory_save_hosts == 0 ? 2 : s.memory_save_hosts;
  return MemoryCopies{own + (shared + ranks - 1) / ranks, std::min(wanted, machines)};
}

}  // namespace hone
