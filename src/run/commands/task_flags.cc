#include "run/commands/task_flags.h"

#include <algorithm>

#include "base/core/log.h"
#include "base/settings/errors.h"
#include "engine/device/tpus.h"
#include "operate/reporters/reporter.h"

namespace hone {

std::vector<std::string> report_choices() {
  std::vector<std::string> names = {"none"};
  for (const ReporterForm& form : all_reporter()) names.push_back(form.name);
  names.emplace_back("all");
  return names;
}

void keep_training_rare(Schema& schema) {
  for (const Setting& s : std::vector<Setting>(schema.all())) {
    // A setting that decides nothing is about the output.
    const bool trains =
        !s.decides.empty() && std::all_of(s.decides.begin(), s.decides.end(), [](const auto& word) {
          return word == "bits" || word == "length" || word == "order" || word == "update" ||
                 word == "evaluation";
        });
    if (!s.required && (trains || s.group == kWhatToDo)) schema.common(s.name, false);
  }
}

void follow_device(const Schema& schema, TrainSettings& s) {
  // A product in float32 takes six in bf16.
  if (names_tpus(s.device_here()) && !schema.given("bf16") && !schema.given("fp16") &&
      !schema.given("dtype"))
    s.bf16 = true;
}

Status check_one_device(const std::string& command, const std::string& remedy,
                        const TrainSettings& s) {
  if (s.tpu_num_cores <= 1) return Ok{};
  return Error(err::kSettingChoice, fmt::format("tpu_num_cores: {} uses one device", command))
      .at(fmt::format("--tpu_num_cores {}", s.tpu_num_cores))
      .todo(remedy);
}

void follow_log_settings(const TrainSettings& s) {
  LogLevel level = LogLevel::kInfo;  // also "passive" of Transformers: the application's own level
  if (s.verbose || s.log_level == "debug")
    level = LogLevel::kDebug;
  else if (s.log_level == "warning")
    level = LogLevel::kWarning;
  else if (s.log_level == "error" || s.log_level == "critical")
    level = LogLevel::kError;
  set_log_level(level);
  set_log_format(s.log_format == "json" ? LogFormat::kJson : LogFormat::kText);
}

}  // namespace hone
