#include "learn/harness/budget/disk_need.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/budget/errors.h"
#include "learn/models/family.h"
#include "learn/train/run_ranks.h"

namespace hone {

std::vector<std::string> saved_weights(const ModelConfig& config) {
  std::vector<std::string> names;
  for (const ParamSpec& p : family_of(config).params(config))
    if (!config.adapter || p.of_adapter()) names.push_back(p.name);
  return names;
}

std::vector<const StateSlot*> saved_states(const TrainSettings& s, const RunPlan& plan,
                                           const std::vector<std::string>& weights) {
  const std::set<std::string> saved(weights.begin(), weights.end());
  std::vector<const StateSlot*> states;
  for (const StateSlot& state : plan.states)
    if (state.role == Role::param ? saved.contains(state.tensor())
                                  : state.role == Role::moment && !s.save_only_model)
      states.push_back(&state);
  return states;
}

namespace {

// Bytes of a state, with those parts of its tensor that other ranks have: they are saved too.
int64_t bytes_of_all_ranks(const StateSlot& state) {
  const int64_t held = state.shard.held_rows().count(), rows = state.shard.rows;
  return state.shard.whole() || held == 0 ? state.type.bytes() : state.type.bytes() * rows / held;
}

}  // namespace

DiskNeed disk_need(const TrainSettings& s, const RunPlan& plan,
                   const std::vector<std::string>& weights, int64_t steps, double epochs) {
  DiskNeed need;
  for (const StateSlot* state : saved_states(s, plan, weights)) {  // wherever they are in the run
    const int64_t bytes = bytes_of_all_ranks(*state);
    need.checkpoint_bytes += bytes;
    if (state->role == Role::param) need.model_bytes += bytes;
  }
  if (s.save_strategy == "steps" && s.save_steps > 0) {
    const auto all = static_cast<double>(steps);
    const double every = s.save_steps < 1 ? std::ceil(s.save_steps * all) : s.save_steps;
    need.checkpoints = static_cast<int64_t>(std::ceil(all / std::max(every, 1.0)));
  } else if (s.save_strategy == "epoch") {
    need.checkpoints = static_cast<int64_t>(std::ceil(epochs));
  } else if (s.save_strategy == "best") {
    need.checkpoints = 1;
  }
  need.written = need.checkpoints;
  if (s.save_total_limit && *s.save_total_limit > 0)
    need.checkpoints = std::min(need.checkpoints, *s.save_total_limit + 1);
  if (s.offload_optimizer_nvme_path.empty())
    need.offload_bytes = plan.arena_bytes(Space::disk) * s.ranks->local_ranks();
  return need;
}

Status check_disk_need(const TrainSettings& s, const DiskNeed& need, int64_t free_bytes,
                       int64_t existing) {
  DiskNeed more = need;
  more.checkpoints = std::max<int64_t>(need.checkpoints - existing, 0);
  if (more.bytes() <= free_bytes) return Ok{};
  const int64_t room = free_bytes - need.model_bytes - need.offload_bytes;
  const int64_t limit = need.checkpoint_bytes > 0 ? room / need.checkpoint_bytes + existing - 1 : 0;
  const bool fits = limit >= 1 && limit < need.checkpoints;
  return Error(err::kDiskTooSmall,
               fmt::format(
                   "the run writes {} of {} each{} and a model of {}: {} more on disk, {} "
                   "are free",
                   count_of(more.checkpoints, "checkpoint"), format_bytes(need.checkpoint_bytes),
                   need.offload_bytes > 0
                       ? fmt::format(", {} that are offloaded", format_bytes(need.offload_bytes))
                       : "",
                   format_bytes(need.model_bytes), format_bytes(more.bytes()),
                   format_bytes(free_bytes)))
      .at("--output_dir " + s.output_dir)
      .todo(fits ? fmt::format("--save_total_limit {} fits; or use another disk", limit)
                 : std::string("use another disk, or --save_strategy no"));
}

}  // namespace hone
