// Reads a settings file before the schema of its settings is known. Refuses pipeline files, which users may confuse
// with settings files.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// Parses the text of a file: JSON if the name `file` ends in .json, else YAML. Errors: H0001 or H0002 (JSON), H0208
// (YAML) the text is malformed.
Result<Json> settings_json(const std::string& text, const std::string& file);

// Error H0206 if `file`, the settings file of `command`, is a recipe or a pipeline with steps; the remedy names the
// command that reads it. Accepts "" (no file), and files that cannot be read or parsed.
Status check_is_settings(const std::string& command, const std::string& file);
// Calls check_is_settings() and returns the text of the file. Errors: H0206 the file is a recipe or a pipeline; those
// of read_file().
Result<std::string> settings_text(const std::string& command, const std::string& file);

}  // namespace hone
