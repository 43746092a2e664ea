// A cosine from the peak to min_lr, or to min_lr_rate times the peak. The first step's rate is not 0: the warm-up
// begins at warmup_lr_rate times the peak, or counts from 1.
#include "learn/train/schedules/errors.h"
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_cosine_warmup_with_min_lr() {
  return {.name = "cosine_warmup_with_min_lr",
          .arguments = {{"num_cycles"}, {"min_lr"}, {"min_lr_rate"}, {"warmup_lr_rate"}},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            if (o.more.contains("min_lr") == o.more.contains("min_lr_rate"))
              return Error(err::kScheduleArgument,
                           "the schedule 'cosine_warmup_with_min_lr' needs one of min_lr and "
                           "min_lr_rate")
                  .todo("add {\"min_lr_rate\": 0.1}, or the rate itself as min_lr");
            const double cycles = o.more.value("num_cycles", 0.5), peak = o.learning_rate;
            const double least = o.more.contains("min_lr") ? o.more["min_lr"].get<double>() / peak
                                                           : o.more["min_lr_rate"].get<double>();
            const double warmup = o.warmup(), rest = std::max(1.0, o.total() - warmup);
            const bool begins = o.more.contains("warmup_lr_rate");
            const double first = begins ? o.more["warmup_lr_rate"].get<double>() : 0;
            return Rate([=](double step) {
              if (step < warmup && begins)
                return peak * (first + (1 - first) * step / std::max(1.0, warmup - 1));
              if (step < warmup) return peak * (step + 1) / std::max(1.0, warmup);
              const double f = 0.5 * (1 + std::cos(M_PI * cycles * 2 * (step - warmup + 1) / rest));
              return peak * std::max(0.0, f * (1 - least) + least);
            });
          }};
}

}  // namespace hone
