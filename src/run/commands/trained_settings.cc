#include "run/commands/trained_settings.h"

#include "base/core/log.h"
#include "base/core/text.h"
#include "learn/pretrained/open.h"

namespace hone {

Status use_trained_settings(ChosenTask& chosen) {
  const TaskSettings& s = *chosen.task->settings;
  const std::string& model =
      s.adapter_name_or_path.empty() ? s.model_name_or_path : s.adapter_name_or_path;
  if (model.empty()) return Ok{};
  const TrainedTask trained = HONE_TRY(open_trained_task(model, open_options(s)));
  if (trained.task != chosen.task->name) return Ok{};
  const std::string file = model + "/" + kTrainedTaskFile;
  std::vector<std::string> used, notices;
  for (const auto& [name, value] : trained.settings.items()) {
    if (!has_setting(chosen.schema, name) || chosen.schema.given(name)) continue;
    HONE_TRY(chosen.schema.imply_default(name, value, file, notices));
    if (chosen.schema.at(name).changed())
      used.push_back(fmt::format("{} '{}'", name, value_text(OrderedJson(value))));
  }
  for (const std::string& notice : notices) log_info("{}", notice);
  if (!used.empty()) log_info("{:<11} {} (from {})", "as trained", join(used, ", "), file);
  return Ok{};
}

}  // namespace hone
