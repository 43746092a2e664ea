// The learning rate times `factor` after evaluations without progress: PyTorch's ReduceLROnPlateau. The trainer keeps
// its state (learn/train/plateau.h); here are its arguments.
#include "learn/train/schedules/errors.h"
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_reduce_lr_on_plateau() {
  return {.name = "reduce_lr_on_plateau",
          .arguments = {{"mode", {"min", "max"}},
                        {"factor"},
                        {"patience"},
                        {"threshold"},
                        {"threshold_mode", {"rel", "abs"}},
                        {"cooldown"},
                        {"min_lr"},
                        {"eps"}},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double factor = o.more.value("factor", 0.1);
            if (factor <= 0 || factor >= 1)
              return Error(err::kScheduleArgument,
                           fmt::format("the factor {} does not reduce the learning rate", factor))
                  .todo("give a factor between 0 and 1");
            return Rate([lr = o.learning_rate](double) { return lr; });
          },
          .warms_up = false,
          .follows_evaluations = true};
}

}  // namespace hone
