// DeepSpeed's WarmupDecayLR: from min_lr to the peak, then a straight line back to min_lr at
// total_num_steps.
#include "learn/train/schedules/deepspeed_warmup.h"

namespace hone {

ScheduleForm schedule_warmup_decay_lr() {
  return {.name = "warmup_decay_lr",
          .arguments = {{"min_lr"}, {"total_num_steps"}, deepspeed_warmup_type()},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double least = o.more.value("min_lr", 0.0), more = o.learning_rate - least,
                         total = deepspeed_total(o);
            return Rate([=, warmup = DeepSpeedWarmup(o)](double done) {
              const double at = warmup.at(done);
              if (at < 0) return least;
              if (at < warmup.steps) return least + more * warmup.share(at);
              return least +
                     more * std::max(0.0, (total - at) / std::max(1.0, total - warmup.steps));
            });
          },
          .deepspeed = "WarmupDecayLR"};
}

}  // namespace hone
