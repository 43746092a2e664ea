// DeepSpeed's WarmupLR: from min_lr to the peak, then the peak.
#include "learn/train/schedules/deepspeed_warmup.h"

namespace hone {

ScheduleForm schedule_warmup_lr() {
  return {.name = "warmup_lr",
          .arguments = {{"min_lr"}, deepspeed_warmup_type()},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double least = o.more.value("min_lr", 0.0), more = o.learning_rate - least;
            return Rate([=, warmup = DeepSpeedWarmup(o)](double done) {
              const double at = warmup.at(done);
              if (at < 0) return least;
              return least + more * (at < warmup.steps ? warmup.share(at) : 1);
            });
          },
          .deepspeed = "WarmupLR"};
}

}  // namespace hone
