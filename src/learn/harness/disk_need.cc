#include "learn/harness/disk_need.h"

#include <algorithm>
#include <cmath>

#include "base/core/text.h"
#include "learn/data/rows/count_text.h"
#include "learn/harness/errors.h"

namespace hone {

DiskNeed disk_need(const TrainSettings& s, const RunPlan& plan, int64_t steps, double epochs) {
  DiskNeed need;
  int64_t moments = 0;
  for (const StateSlot& state : plan.states) {  // wherever they are in the run
    if (state.role == Role::param) need.model_bytes += state.type.bytes();
    if (state.role == Role::moment) moments += state.type.bytes();
  }
  need.checkpoint_bytes = need.model_bytes + (s.save_only_model ? 0 : moments);
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
  if (s.offload_optimizer_nvme_path.empty()) need.offload_bytes = plan.arena_bytes(Space::disk);
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
