// Settings files of launchers: those that `accelerate config` writes.
#pragma once

#include <map>
#include <string>

#include "base/core/error.h"

namespace hone {

// The values of a file by the names of the launcher's flags. Groups such as deepspeed_config are dissolved.
// Errors: H0003, H0208; H3004 it is not such a file.
Result<std::map<std::string, std::string>> read_launcher_config(const std::string& path);

// The file that accelerate reads if none is named; "": there is none.
std::string usual_launcher_config();

}  // namespace hone
