#include "learn/harness/budget/memory_copies.h"

#include "learn/train/run_copies.h"

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
  return MemoryCopies{own + (shared + ranks - 1) / ranks,
                      hosts_of_copies(s.memory_save_hosts, machines)};
}

}  // namespace hone
