// Settings files before their settings are known, and the files of pipelines, which are none.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// JSON if `file` ends in .json, else YAML. Errors: H0208.
Result<Json> settings_json(const std::string& text, const std::string& file);

// Refuses a settings file of `command` that is a recipe or has steps, with the command that reads it. "" and files that
// cannot be read are accepted. Errors: H0206.
Status check_is_settings(const std::string& command, const std::string& file);
// The file after that check. Errors: H0206, those of read_file.
Result<std::string> settings_text(const std::string& command, const std::string& file);

}  // namespace hone
