// The folder of a run's logs and profiles.
#pragma once

#include <string>

#include "learn/train/settings.h"

namespace hone {

// The folder, as a path or URL without a trailing slash. It is the first of these that is set: --logging_dir, the
// environment variables TENSORBOARD_LOGGING_DIR, LOGDIR and AIP_TENSORBOARD_LOG_DIR. If none is set, it is
// output_dir/runs/<date>_<host>; the date is the same in all calls in one process.
std::string log_folder(const TrainSettings& s);

}  // namespace hone
