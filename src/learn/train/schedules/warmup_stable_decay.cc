// A rise to the peak, num_stable_steps at it, num_decay_steps down to min_lr_ratio of it (arXiv
// 2404.06395). Rise and decay have one of three shapes.
#include "learn/train/schedules/errors.h"
#include "learn/train/schedules/schedule_form.h"

namespace hone {
namespace {

double shape(const std::string& kind, double progress, double cycles, bool rising) {
  if (kind == "cosine")
    return rising ? 0.5 * (1 - std::cos(M_PI * progress))
                  : 0.5 * (1 + std::cos(M_PI * cycles * 2 * progress));
  if (kind == "1-sqrt") return rising ? 1 - std::sqrt(1 - progress) : 1 - std::sqrt(progress);
  return rising ? progress : 1 - progress;
}

Result<Rate> make(const ScheduleOptions& o) {
  if (!o.more.contains("num_decay_steps"))
    return Error(err::kScheduleArgument, "the schedule 'warmup_stable_decay' needs num_decay_steps")
        .todo("add the number of steps of the last part: {\"num_decay_steps\": 100}");
  const double lr = o.learning_rate, warmup = o.warmup(), cycles = o.more.value("num_cycles", 0.5),
               least = o.more.value("min_lr_ratio", 0.0),
               decay = o.more["num_decay_steps"].get<double>(),
               stable = o.more.value("num_stable_steps", o.total() - warmup - decay);
  const std::string rise = o.more.value("warmup_type", "linear"),
                    fall = o.more.value("decay_type", "cosine");
  return Rate([=](double step) {
    double f;
    if (step < warmup)
      f = shape(rise, step / std::max(1.0, warmup), cycles, true) * (1 - least) + least;
    else if (step < warmup + stable)
      return lr;
    else if (step < warmup + stable + decay)
      f = shape(fall, (step - warmup - stable) / std::max(1.0, decay), cycles, false) *
              (1 - least) +
          least;
    else
      return lr * least;
    return lr * std::max(0.0, f);
  });
}

}  // namespace

ScheduleForm schedule_warmup_stable_decay() {
  const std::vector<std::string> shapes{"linear", "cosine", "1-sqrt"};
  return {.name = "warmup_stable_decay",
          .arguments = {{"num_stable_steps"},
                        {"num_decay_steps"},
                        {"warmup_type", shapes},
                        {"decay_type", shapes},
                        {"min_lr_ratio"},
                        {"num_cycles"}},
          .make = make};
}

}  // namespace hone
