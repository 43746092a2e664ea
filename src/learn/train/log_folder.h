// The folder of a run's logs and profiles.
#pragma once

#include <string>

#include "learn/train/settings.h"

namespace hone {

// The value of --logging_dir; else of the first set variable of those in the help of --logging_dir;
// else output_dir/runs/<date>_<host>. A path or URL without a trailing slash.
std::string log_folder(const TrainSettings& s);

}  // namespace hone
