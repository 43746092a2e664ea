// Reads the settings files that `accelerate config` writes.
#pragma once

#include <map>
#include <string>

#include "base/core/error.h"

namespace hone {

// Returns the values in a YAML or JSON file as texts, by the names of the launcher's flags. Values inside a group such
// as deepspeed_config are included without the name of the group. Errors: H0003 the file cannot be read; H0208 (YAML),
// or H0001 or H0002 (JSON), the file is malformed; H3004 it is empty or does not have names with values.
Result<std::map<std::string, std::string>> read_launcher_config(const std::string& path);

// The path of the file that accelerate reads by default; "" if there is none.
std::string usual_launcher_config();

}  // namespace hone
