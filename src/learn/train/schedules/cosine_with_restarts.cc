// Half a cosine from the peak to 0, num_cycles (1) times.
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_cosine_with_restarts() {
  return {.name = "cosine_with_restarts",
          .arguments = {{"num_cycles"}},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double cycles = o.more.value("num_cycles", 1.0);
            return after_warmup(o, [=](double step) {
              const double progress = progress_of(o, step);
              if (progress >= 1) return 0.0;
              return o.learning_rate *
                     std::max(0.0, 0.5 * (1 + std::cos(M_PI * std::fmod(cycles * progress, 1.0))));
            });
          }};
}

}  // namespace hone
