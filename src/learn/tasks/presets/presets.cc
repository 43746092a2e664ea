#include "learn/tasks/presets/presets.h"

#include "learn/tasks/presets/errors.h"

namespace hone {

void add_aliases(Schema& schema,
                 const std::vector<std::pair<const char*, const char*>>& name_and_alias) {
  for (const auto& [name, alias] : name_and_alias)
    if (has_setting(schema, name)) schema.alias(name, alias, false);
}

Status check_job_dir(const std::string& job_dir, const std::string& remedy) {
  if (job_dir.find("://") == std::string::npos) return Ok{};
  return Error(err::kPresetSetting,
               fmt::format("--job_dir {} is not a folder of this machine", job_dir))
      .todo("name a local folder and " + remedy);
}

}  // namespace hone
