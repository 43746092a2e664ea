#include "learn/train/schedule.h"

#include "base/core/text.h"
#include "learn/train/schedules/errors.h"

namespace hone {
namespace {

const std::vector<ScheduleForm>& schedule_shelf() {
  static const std::vector<ScheduleForm> forms = all_schedule();
  return forms;
}

Status check_arguments(const ScheduleForm& form, const nlohmann::json& given) {
  std::vector<std::string> names;
  for (const ScheduleArgument& a : form.arguments) names.push_back(a.name);
  for (const auto& [key, value] : given.items()) {
    const auto at = std::find(names.begin(), names.end(), key);
    if (at == names.end())
      return Error(err::kScheduleArgument,
                   fmt::format("the schedule '{}' has no argument '{}'", form.name, key))
          .at("--lr_scheduler_kwargs")
          .todo(names.empty() ? std::string("it takes none")
                              : fmt::format("it takes {}", join(names, ", ")));
    const auto& words = form.arguments[static_cast<size_t>(at - names.begin())].words;
    const bool fits = words.empty()
                          ? value.is_number()
                          : value.is_string() && std::find(words.begin(), words.end(),
                                                           value.get<std::string>()) != words.end();
    if (!fits)
      return Error(err::kScheduleArgument, fmt::format("the argument '{}' of schedule '{}' is {}",
                                                       key, form.name, value.dump()))
          .at("--lr_scheduler_kwargs")
          .todo(words.empty() ? std::string("it is a number")
                              : fmt::format("it is one of {}", join(words, ", ")));
  }
  return Ok{};
}

}  // namespace

const ScheduleForm* find_schedule(const std::string& name) {
  for (const ScheduleForm& form : schedule_shelf())
    if (form.name == name) return &form;
  return nullptr;
}

std::vector<std::string> schedule_names() {
  std::vector<std::string> names;
  for (const ScheduleForm& form : schedule_shelf()) names.push_back(form.name);
  return names;
}

Result<Schedule> Schedule::make(const ScheduleOptions& options) {
  const ScheduleForm* form = find_schedule(options.type);
  if (form == nullptr)
    return Error(err::kScheduleArgument, fmt::format("no schedule is named '{}'", options.type))
        .todo(fmt::format("use one of {}", join(schedule_names(), ", ")));
  HONE_TRY(check_arguments(*form, options.more));
  Result<Rate> rate = form->make(options);
  if (!rate.ok()) return std::move(rate.error().at("--lr_scheduler_kwargs"));
  return Schedule(std::move(*rate));
}

int64_t resolve_warmup(double warmup_steps, double warmup_ratio, int64_t total_steps) {
  if (warmup_steps >= 1) return static_cast<int64_t>(warmup_steps);
  const double share = warmup_steps > 0 ? warmup_steps : warmup_ratio;
  return static_cast<int64_t>(std::ceil(static_cast<double>(total_steps) * share));
}

}  // namespace hone
