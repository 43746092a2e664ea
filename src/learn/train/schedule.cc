#include "learn/train/schedule.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "learn/train/errors.h"

namespace hone {
namespace {

const std::map<std::string, std::vector<std::string>>& arguments() {
  static const std::map<std::string, std::vector<std::string>> known{
      {"linear", {}},
      {"constant", {}},
      {"constant_with_warmup", {}},
      {"cosine", {"num_cycles"}},
      {"cosine_with_restarts", {"num_cycles"}},
      {"polynomial", {"lr_end", "power"}},
      {"inverse_sqrt", {"timescale"}},
      {"cosine_with_min_lr", {"num_cycles", "min_lr", "min_lr_rate"}},
      {"warmup_stable_decay",
       {"num_stable_steps", "num_decay_steps", "warmup_type", "decay_type", "min_lr_ratio",
        "num_cycles"}},
  };
  return known;
}

double shape(const std::string& kind, double progress, double cycles, bool rising) {
  if (kind == "cosine")
    return rising ? 0.5 * (1 - std::cos(M_PI * progress))
                  : 0.5 * (1 + std::cos(M_PI * cycles * 2 * progress));
  if (kind == "1-sqrt") return rising ? 1 - std::sqrt(1 - progress) : 1 - std::sqrt(progress);
  return rising ? progress : 1 - progress;
}

}  // namespace

Result<Schedule> Schedule::make(ScheduleOptions options) {
  auto it = arguments().find(options.type);
  std::vector<std::string> names;
  for (const auto& [name, args] : arguments()) names.push_back(name);
  if (it == arguments().end())
    return Error(err::kScheduleArgument, fmt::format("no schedule is named '{}'", options.type))
        .todo(fmt::format("use one of {}", fmt::join(names, ", ")));
  for (const auto& [key, value] : options.more.items()) {
    if (std::find(it->second.begin(), it->second.end(), key) == it->second.end())
      return Error(err::kScheduleArgument,
                   fmt::format("the schedule '{}' has no argument '{}'", options.type, key))
          .at("--lr_scheduler_kwargs")
          .todo(it->second.empty() ? std::string("it takes none")
                                   : fmt::format("it takes {}", fmt::join(it->second, ", ")));
    const bool shape_name = key == "warmup_type" || key == "decay_type";
    if (shape_name ? value != "linear" && value != "cosine" && value != "1-sqrt"
                   : !value.is_number())
      return Error(err::kScheduleArgument, fmt::format("the argument '{}' of schedule '{}' is {}",
                                                       key, options.type, value.dump()))
          .at("--lr_scheduler_kwargs")
          .todo(shape_name ? "it is one of linear, cosine, 1-sqrt" : "it is a number");
  }
  auto needs = [&](const char* key) { return options.more.contains(key); };
  if (options.type == "cosine_with_min_lr" && needs("min_lr") == needs("min_lr_rate"))
    return Error(err::kScheduleArgument,
                 "the schedule 'cosine_with_min_lr' needs one of min_lr and min_lr_rate")
        .at("--lr_scheduler_kwargs");
  if (options.type == "warmup_stable_decay" && !needs("num_decay_steps"))
    return Error(err::kScheduleArgument, "the schedule 'warmup_stable_decay' needs num_decay_steps")
        .at("--lr_scheduler_kwargs");
  if (options.type == "polynomial" && options.learning_rate <= options.more.value("lr_end", 1e-7))
    return Error(err::kScheduleArgument,
                 "the schedule 'polynomial' needs a learning_rate above lr_end")
        .at("--lr_scheduler_kwargs");
  Schedule s;
  s.o_ = std::move(options);
  const ScheduleOptions& o = s.o_;
  const double total = static_cast<double>(o.total_steps),
               warmup = static_cast<double>(o.warmup_steps);
  s.cycles_ = o.more.value("num_cycles", o.type == "cosine_with_restarts" ? 1.0 : 0.5);
  s.power_ = o.more.value("power", 1.0);
  s.end_ = o.more.value("lr_end", 1e-7);
  s.timescale_ = o.more.value("timescale", o.warmup_steps > 0 ? warmup : 10000.0);
  s.least_ = o.more.contains("min_lr")
                 ? o.more["min_lr"].get<double>() / o.learning_rate
                 : o.more.value("min_lr_rate", o.more.value("min_lr_ratio", 0.0));
  s.decay_ = o.more.value("num_decay_steps", 0.0);
  s.stable_ = o.more.value("num_stable_steps", total - warmup - s.decay_);
  s.warmup_type_ = o.more.value("warmup_type", "linear");
  s.decay_type_ = o.more.value("decay_type", "cosine");
  return s;
}

double Schedule::rate(int64_t done) const {
  const std::string& t = o_.type;
  const double step = static_cast<double>(done), warmup = static_cast<double>(o_.warmup_steps),
               total = static_cast<double>(o_.total_steps);
  const double lr = o_.learning_rate;
  if (t == "constant") return lr;
  if (t == "warmup_stable_decay") {
    double f;
    if (step < warmup)
      f = shape(warmup_type_, step / std::max(1.0, warmup), cycles_, true) * (1 - least_) + least_;
    else if (step < warmup + stable_)
      return lr;
    else if (step < warmup + stable_ + decay_)
      f = shape(decay_type_, (step - warmup - stable_) / std::max(1.0, decay_), cycles_, false) *
              (1 - least_) +
          least_;
    else
      return lr * least_;
    return lr * std::max(0.0, f);
  }
  if (done < o_.warmup_steps) return lr * (step / std::max(1.0, warmup));
  const double progress = (step - warmup) / std::max(1.0, total - warmup);
  if (t == "linear") return lr * std::max(0.0, (total - step) / std::max(1.0, total - warmup));
  if (t == "cosine") return lr * std::max(0.0, 0.5 * (1 + std::cos(M_PI * cycles_ * 2 * progress)));
  if (t == "cosine_with_restarts") {
    if (progress >= 1) return 0;
    return lr * std::max(0.0, 0.5 * (1 + std::cos(M_PI * std::fmod(cycles_ * progress, 1.0))));
  }
  if (t == "polynomial") {
    if (step > total) return end_;
    return (lr - end_) * std::pow(1 - (step - warmup) / (total - warmup), power_) + end_;
  }
  if (t == "inverse_sqrt") return lr / std::sqrt((step + timescale_ - warmup) / timescale_);
  if (t == "cosine_with_min_lr") {
    const double f = 0.5 * (1 + std::cos(M_PI * cycles_ * 2 * progress));
    return lr * std::max(0.0, f * (1 - least_) + least_);
  }
  return lr;  // constant_with_warmup
}

int64_t resolve_warmup(double warmup_steps, double warmup_ratio, int64_t total_steps) {
  if (warmup_steps >= 1) return static_cast<int64_t>(warmup_steps);
  const double share = warmup_steps > 0 ? warmup_steps : warmup_ratio;
  return static_cast<int64_t>(std::ceil(static_cast<double>(total_steps) * share));
}

}  // namespace hone
