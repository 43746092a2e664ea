// Copies of the run's state in the memory of its hosts.
#include "base/core/log.h"
#include "learn/train/host_copies.h"
#include "learn/train/saved_run.h"
#include "learn/train/trainer.h"

namespace hone {

bool Trainer::memory_save_is_due() const {
  return copies_ && done_ % s_.memory_save_steps == 0 && done_ < task_.steps().total_steps() &&
         (last_saved_ != done_ || saving_);
}

Status Trainer::save_in_memory() {
  const double begin = system_clock().seconds();
  bool has_room = HONE_TRY(copies_->settle());
  const SavedRun run{saved_tensors(task_, optimizer_states(task_.session())),
                     resume_state(false, best_), state_text(best_)};
  const bool averages = HONE_TRY(use_averages());
  const Status saved =
      has_room ? write_part_of_run(*s_.ranks, copies_->own_folder(), done_, task_, run) : Ok{};
  HONE_TRY(leave_averages(averages));
  if (const Status all = s_.ranks->agree("a copy in memory", saved); !all.ok()) {
    // A lost rank ends the run, which continues from the older copy.
    HONE_TRY(s_.ranks->agree("a copy in memory", Ok{}));
    log_warning("the machine's memory takes no copy of the run, which continues all the same: {}",
                all.error().text());
    has_room = false;
  }
  if (has_room) {
    HONE_TRY(copies_->spread(done_));
  } else {
    HONE_TRY(copies_->drop());
    copies_.reset();
  }
  save_seconds_ += system_clock().seconds() - begin;
  return Ok{};
}

}  // namespace hone
