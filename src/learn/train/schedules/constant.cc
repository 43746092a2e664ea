// The same rate at every step.
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_constant() {
  return {.name = "constant",
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            return Rate([lr = o.learning_rate](double) { return lr; });
          },
          .warms_up = false};
}

}  // namespace hone
