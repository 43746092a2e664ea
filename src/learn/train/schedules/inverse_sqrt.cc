// The inverse square root of the steps, as in fairseq; timescale is by default the warm-up.
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_inverse_sqrt() {
  return {.name = "inverse_sqrt",
          .arguments = {{"timescale"}},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double lr = o.learning_rate, warmup = o.warmup();
            const double scale = o.more.value("timescale", o.warmup_steps > 0 ? warmup : 10000.0);
            return after_warmup(
                o, [=](double step) { return lr / std::sqrt((step + scale - warmup) / scale); });
          }};
}

}  // namespace hone
