// The power-th (1) power of a straight line from the peak to lr_end (1e-7).
#include "learn/train/schedules/errors.h"
#include "learn/train/schedules/schedule_form.h"

namespace hone {

ScheduleForm schedule_polynomial() {
  return {.name = "polynomial",
          .arguments = {{"lr_end"}, {"power"}},
          .make = [](const ScheduleOptions& o) -> Result<Rate> {
            const double lr = o.learning_rate, warmup = o.warmup(), total = o.total();
            const double end = o.more.value("lr_end", 1e-7), power = o.more.value("power", 1.0);
            if (lr <= end)
              return Error(err::kScheduleArgument,
                           "the schedule 'polynomial' needs a learning_rate above lr_end")
                  .todo("use a larger --learning_rate or a smaller lr_end");
            return after_warmup(o, [=](double step) {
              if (step > total) return end;
              return (lr - end) * std::pow(1 - (step - warmup) / (total - warmup), power) + end;
            });
          }};
}

}  // namespace hone
