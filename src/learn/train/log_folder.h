// The folder of a run's logs and profiles.
#pragma once

#include <string>

#include "learn/train/settings.h"

namespace hone {

// --logging_dir, else the variables in its help, else a folder of this run in output_dir. A path or
// URL without a trailing slash.
std::string log_folder(const TrainSettings& s);

}  // namespace hone
