// The folder of a run's logs and profiles.
#pragma once

#include <string>

#include "learn/train/settings.h"

namespace hone {

// --logging_dir, else the variables that its help names, else a folder of this run in output_dir. A
// path or URL without a slash at its end.
std::string log_folder(const TrainSettings& s);

}  // namespace hone
