// The folder of a run's logs and profiles.
#pragma once

#include <string>

#include "learn/train/settings.h"

namespace hone {

// The value of --logging_dir. If it is not set: the first environment variable that is set of TENSORBOARD_LOGGING_DIR,
// LOGDIR and AIP_TENSORBOARD_LOG_DIR. If none is: output_dir/runs/<date>_<host>, the same in all calls of the process.
// A path or URL without a trailing slash.
std::string log_folder(const TrainSettings& s);

}  // namespace hone
