#include "run/commands/launcher_config.h"

#include <filesystem>

#include "base/core/text.h"
#include "base/settings/yaml.h"
#include "run/commands/errors.h"

namespace hone {
namespace {

// Names in files that differ from those of flags.
constexpr std::pair<const char*, const char*> kFileNames[] = {{"use_cpu", "cpu"}};

void add_values(const Json& values, std::map<std::string, std::string>& all) {
  for (const auto& [key, value] : values.items()) {
    if (value.is_object()) add_values(value, all);
    if (!value.is_string()) continue;
    std::string name = key;
    for (const auto& [file, flag] : kFileNames)
      if (name == file) name = flag;
    all[name] = value.get<std::string>();
  }
}

}  // namespace

Result<std::map<std::string, std::string>> read_launcher_config(const std::string& path) {
  const std::string text = HONE_TRY(read_file(path));
  if (trim(text).empty())
    return Error(err::kUnknownScript, "the file is empty")
        .at(path)
        .todo("write it by accelerate config");
  const Json values =
      path.ends_with(".json") ? HONE_TRY(parse_json(text, path)) : HONE_TRY(parse_yaml(text, path));
  if (!values.is_object())
    return Error(err::kUnknownScript, "the settings of a launcher are not names with values")
        .at(path)
        .todo("write it by accelerate config");
  std::map<std::string, std::string> all;
  add_values(values, all);
  return all;
}

std::string usual_launcher_config() {
  std::string cache = environment("HF_HOME");
  if (cache.empty() && !environment("XDG_CACHE_HOME").empty())
    cache = environment("XDG_CACHE_HOME") + "/huggingface";
  if (cache.empty()) cache = environment("HOME") + "/.cache/huggingface";
  for (const char* ending : {"yaml", "yml"}) {
    const std::string path = fmt::format("{}/accelerate/default_config.{}", cache, ending);
    std::error_code unknown;
    if (std::filesystem::exists(path, unknown)) return path;
  }
  return "";
}

}  // namespace hone
