#include "learn/train/log_folder.h"

#include <time.h>

#include <array>

#include "base/core/clock.h"
#include "base/core/process.h"
#include "base/core/text.h"

namespace hone {
namespace {

// Mmmdd_HH-MM-SS_<host>, local time, as Transformers names the folders of its runs.
std::string run_folder_name() {
  const auto seconds = static_cast<time_t>(system_clock().wall_seconds());
  tm local{};
  ::localtime_r(&seconds, &local);
  std::array<char, 64> text{};
  ::strftime(text.data(), text.size(), "%b%d_%H-%M-%S", &local);
  return std::string(text.data()) + "_" + host_name();
}

}  // namespace

std::string log_folder(const TrainSettings& s) {
  std::string folder = s.logging_dir;
  for (const char* name : {"TENSORBOARD_LOGGING_DIR", "LOGDIR", "AIP_TENSORBOARD_LOG_DIR"})
    if (folder.empty()) folder = environment(name);
  static const std::string run = run_folder_name();
  return folder.empty() ? s.output_dir + "/runs/" + run : without_end_slash(folder);
}

}  // namespace hone
