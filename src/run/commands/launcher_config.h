// Reads the settings files that `accelerate config` writes.
#pragma once

#include <map>
#include <string>

#include "base/core/error.h"

namespace hone {

// The text values of a YAML or JSON file, by the names of the launcher's flags. Values inside groups such as
// deepspeed_config are included under their own names. Errors: H0003 the file cannot be read, H0208 (YAML) or H0001 and
// H0002 (JSON) it is malformed, H3004 it is empty or does not have names with values.
Result<std::map<std::string, std::string>> read_launcher_config(const std::string& path);

// The path of the file that accelerate reads by default; "" if there is none.
std::string usual_launcher_config();

}  // namespace hone
