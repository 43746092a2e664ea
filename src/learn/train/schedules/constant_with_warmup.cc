// The peak after the warm-up.
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_constant_with_warmup() {
  return {.name = "constant_with_warmup", .make = [](const ScheduleOptions& o) -> Result<Rate> {
            return after_warmup(o, [lr = o.learning_rate](double) { return lr; });
          }};
}

}  // namespace hone
