#include "learn/harness/settings.h"

#include <algorithm>

namespace hone {

TaskSettings::TaskSettings() : print([](std::string_view) {}) {}
TaskSettings::TaskSettings(const TaskSettings&) = default;
TaskSettings& TaskSettings::operator=(const TaskSettings&) = default;
TaskSettings::~TaskSettings() = default;

void TaskSettings::bind(Schema& schema) {
  TrainSettings::bind(schema);
  DataSettings::bind(schema);
}

bool has_setting(const Schema& schema, const std::string& name) {
  const auto& all = schema.all();
  return std::any_of(all.begin(), all.end(), [&](const Setting& s) { return s.name == name; });
}

#define HONE_BIND DataSettings::bind
#define HONE_SETTINGS "learn/harness/data_settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
