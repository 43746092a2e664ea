// A cosine from the peak to min_lr, or to min_lr_rate times the peak, which the last cooldown_steps keep (below 1: a
// share of all steps; at most those after the warm-up), as timm's --cooldown-epochs.
#include "learn/train/schedules/errors.h"
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_cosine_with_min_lr() {
  return {.name = "cosine_with_min_lr",
          .arguments = {{"num_cycles"}, {"min_lr"}, {"min_lr_rate"}, {"cooldown_steps"}},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            if (o.more.contains("min_lr") == o.more.contains("min_lr_rate"))
              return Error(err::kScheduleArgument,
                           "the schedule 'cosine_with_min_lr' needs one of min_lr and min_lr_rate")
                  .todo("add {\"min_lr_rate\": 0.1}, or the rate itself as min_lr");
            const double cycles = o.more.value("num_cycles", 0.5);
            const double least = o.more.contains("min_lr")
                                     ? o.more["min_lr"].get<double>() / o.learning_rate
                                     : o.more["min_lr_rate"].get<double>();
            const double asked = o.more.value("cooldown_steps", 0.0);
            if (asked < 0)
              return Error(err::kScheduleArgument, "cooldown_steps is negative")
                  .todo("give a number of steps, or a share of all steps below 1");
            const double kept = std::min(asked < 1 ? std::ceil(asked * o.total()) : asked,
                                         std::max(0.0, o.total() - o.warmup()));
            ScheduleOptions falling = o;
            falling.total_steps -= static_cast<int64_t>(kept);
            return after_warmup(o, [=](double step) {
              const double p = step < falling.total() ? progress_of(falling, step) : 1;
              const double f = 0.5 * (1 + std::cos(M_PI * cycles * 2 * p));
              return o.learning_rate * std::max(0.0, f * (1 - least) + least);
            });
          }};
}

}  // namespace hone
