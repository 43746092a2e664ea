// DeepSpeed's WarmupCosineLR: from warmup_min_ratio times the peak to the peak, then a cosine down
// to cos_min_ratio times the peak. The first step is at 0.
#include "learn/train/schedules/deepspeed_warmup.h"

namespace hone {

ScheduleForm schedule_warmup_cosine_lr() {
  return {.name = "warmup_cosine_lr",
          .arguments = {{"warmup_min_ratio"},
                        {"cos_min_ratio"},
                        {"total_num_steps"},
                        deepspeed_warmup_type()},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double lr = o.learning_rate, total = deepspeed_total(o),
                         first = o.more.value("warmup_min_ratio", 0.0),
                         last = o.more.value("cos_min_ratio", 0.0001);
            return Rate([=, warmup = DeepSpeedWarmup(o)](double done) {
              const double at = warmup.at(done);
              if (at < 0) return 0.0;
              if (at < warmup.steps) return lr * (first + (1 - first) * warmup.share(at));
              const double part =
                  std::min(1.0, (at - warmup.steps + 1) / std::max(1.0, total - warmup.steps));
              const double wave = (1 + std::cos(M_PI * part)) / 2;
              return lr * std::max(0.0, last + (1 - last) * wave);
            });
          },
          .deepspeed = "WarmupCosineLR"};
}

}  // namespace hone
