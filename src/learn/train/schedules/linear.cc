// A straight line from the peak to 0.
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_linear() {
  return {.name = "linear", .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double lr = o.learning_rate, warmup = o.warmup(), total = o.total();
            return after_warmup(o, [=](double step) {
              return lr * std::max(0.0, (total - step) / std::max(1.0, total - warmup));
            });
          }};
}

}  // namespace hone
