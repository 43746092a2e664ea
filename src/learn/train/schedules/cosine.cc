// A cosine from the peak to 0, num_cycles (0.5) waves long.
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_cosine() {
  return {.name = "cosine",
          .arguments = {{"num_cycles"}},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double cycles = o.more.value("num_cycles", 0.5);
            return after_warmup(o, [=](double step) {
              return o.learning_rate *
                     std::max(0.0, 0.5 * (1 + std::cos(M_PI * cycles * 2 * progress_of(o, step))));
            });
          }};
}

}  // namespace hone
