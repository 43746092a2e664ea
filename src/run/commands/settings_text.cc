#include "run/commands/settings_text.h"

#include "base/core/text.h"
#include "base/settings/errors.h"
#include "base/settings/yaml.h"
#include "base/store/store.h"

namespace hone {

Result<Json> settings_json(const std::string& text, const std::string& file) {
  return to_lower(file).ends_with(".json") ? parse_json(text, file) : parse_yaml(text, file);
}

Status check_is_settings(const std::string& command, const std::string& file) {
  if (file.empty()) return Ok{};
  const Result<std::string> text = read_file(file);
  if (!text.ok()) return Ok{};  // the schema reports it, and what cannot be parsed
  const auto parsed = settings_json(*text, file);
  if (!parsed.ok() || !parsed->is_object()) return Ok{};
  const bool is_recipe = parsed->contains("dataset") &&
                         (parsed->contains("model_checkpoint") || parsed->contains("train_config"));
  if (!is_recipe && !value_at(*parsed, "steps").is_array()) return Ok{};
  return Error(err::kUnexpectedArgument,
               fmt::format("'{}' is a pipeline, and not settings of {}", file, command))
      .at(file)
      .todo(
          fmt::format("check it by hone pipeline run {0} --dry_run, which also prints the commands "
                      "of its steps; hone pipeline run {0} runs it",
                      file));
}

Result<std::string> settings_text(const std::string& command, const std::string& file) {
  HONE_TRY(check_is_settings(command, file));
  return read_file(file);
}

}  // namespace hone
