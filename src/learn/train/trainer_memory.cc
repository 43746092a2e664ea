// Copies of the run's state in the memory of its machine.
#include "base/core/log.h"
#include "learn/checkpoint/training_checkpoint.h"
#include "learn/train/run_copies.h"
#include "learn/train/saved_run.h"
#include "learn/train/trainer.h"

namespace hone {

Status Trainer::choose_memory() {
  if (s_.memory_save_steps == 0) return Ok{};
  memory_ = memory_folder();
  if (!s_.ranks->leads()) return Ok{};
  if (memory_.empty())
    log_warning(
        "memory_save_steps has no effect: hone launch --max_restarts keeps these copies, for ranks "
        "of "
        "one machine");
  else
    HONE_TRY(clean_leftovers(memory_));
  return Ok{};
}

bool Trainer::memory_save_is_due() const {
  return !memory_.empty() && done_ % s_.memory_save_steps == 0 &&
         done_ < task_.steps().total_steps() && (last_saved_ != done_ || saving_);
}

Status Trainer::save_in_memory() {
  const double begin = system_clock().seconds();
  const SavedRun run{saved_tensors(task_, optimizer_states(task_.session())),
                     resume_state(false, best_), state_text(best_)};
  const bool averages = HONE_TRY(use_averages());
  const Result<std::string> saved = write_checkpoint(*s_.ranks, memory_, done_, task_, run, [] {});
  HONE_TRY(leave_averages(averages));
  // A lost rank ends the run, which continues from the older copy.
  if (!saved.ok()) HONE_TRY(s_.ranks->agree("a copy in memory", Ok{}));
  // The older copy stays until this one is whole.
  if (s_.ranks->leads())
    for (const CheckpointInfo& c : HONE_TRY(find_checkpoints(memory_)))
      if (!saved.ok() || c.step != done_) HONE_TRY(delete_checkpoint(c.path));
  if (!saved.ok()) {
    memory_.clear();
    log_warning("the machine's memory takes no copy of the run, which continues all the same: {}",
                saved.error().text());
  }
  save_seconds_ += system_clock().seconds() - begin;
  return Ok{};
}

}  // namespace hone
