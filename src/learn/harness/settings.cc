#include "learn/harness/settings.h"

#include "base/settings/errors.h"
#include "learn/data/rows/count_text.h"
#include "learn/train/trainer.h"

namespace hone {

TaskSettings::TaskSettings() : print([](std::string_view) {}) {}
TaskSettings::TaskSettings(const TaskSettings&) = default;
TaskSettings& TaskSettings::operator=(const TaskSettings&) = default;
TaskSettings::~TaskSettings() = default;

void TaskSettings::begin_from(const TrainStart& start) {
  split = start.split;
  continued_from = start.checkpoint;
  has_ended = start.finished && start.checkpoint.empty();
}

void TaskSettings::bind(Schema& schema) {
  TrainSettings::bind(schema);
  DataSettings::bind(schema);
}

bool has_given(const Schema& schema, const std::string& name) {
  return has_setting(schema, name) && schema.given(name);
}

Status check_row_tokens(const std::string& flag, int64_t tokens) {
  if (tokens >= 2) return Ok{};
  return Error(err::kSettingBounds,
               fmt::format("rows of {} have nothing to learn", count_of(tokens, "token")))
      .at("--" + flag)
      .todo("give at least 2 tokens, and a model with as many positions");
}

#define HONE_BIND DataSettings::bind
#define HONE_SETTINGS "learn/harness/data_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
