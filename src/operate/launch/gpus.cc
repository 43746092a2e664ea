#include "operate/launch/gpus.h"

#include <cstdlib>

#include "base/core/text.h"
#include "operate/launch/errors.h"
#include "operate/telemetry/gpu_usage.h"

namespace hone {

std::vector<std::string> gpu_uuids() {
  std::vector<std::string> uuids;
  if (const auto reader = GpuReader::open())
    for (const GpuUsage& gpu : reader->read()) uuids.push_back(gpu.uuid);
  return uuids;
}

std::optional<std::vector<std::string>> visible_devices() {
  const char* const text = std::getenv("CUDA_VISIBLE_DEVICES");
  if (text == nullptr) return std::nullopt;
  std::vector<std::string> words;
  for (const std::string& part : split(text, ',')) {
    const std::string word(trim(part));
    const bool names = !word.empty() && (word[0] == 'G' || word[0] == 'M' ||
                                         word.find_first_not_of("0123456789") == word.npos);
    if (!names) break;
    words.push_back(word);
  }
  return words;
}

Result<std::vector<std::string>> share_gpus(const std::optional<std::vector<std::string>>& visible,
                                            const std::vector<std::string>& uuids, int ranks,
                                            bool wants_gpus) {
  std::vector<std::string> devices = visible ? *visible : uuids;
  if (devices.empty()) return devices;
  if (static_cast<int>(devices.size()) >= ranks) {
    devices.resize(static_cast<size_t>(ranks));
    return devices;
  }
  if (!wants_gpus || uuids.empty()) return std::vector<std::string>();
  return Error(err::kLaunchRequest, fmt::format("{} ranks need a GPU each, and {} can be used here",
                                                ranks, devices.size()))
      .at(visible ? "CUDA_VISIBLE_DEVICES=" + join(*visible, ",") : "the GPUs of this host")
      .todo(
          fmt::format("start {} processes here, or set CUDA_VISIBLE_DEVICES to nothing to train on "
                      "the CPU",
                      devices.size()));
}

}  // namespace hone
