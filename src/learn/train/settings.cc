#include "learn/train/settings.h"

#include <cmath>

#include "base/core/text.h"
#include "learn/train/run_ranks.h"

namespace hone {

TrainSettings::TrainSettings() : ranks(std::make_shared<RunRanks>()) {}
TrainSettings::TrainSettings(const TrainSettings&) = default;
TrainSettings& TrainSettings::operator=(const TrainSettings&) = default;
TrainSettings::~TrainSettings() = default;

int64_t TrainSettings::batch_rows() const {
  return per_device_train_batch_size * ranks->full_ranks() / ranks->tensor().ranks;
}

int64_t TrainSettings::rank_rows() const {
  const int64_t here = ranks->data().ranks;
  return (batch_rows() + here - 1) / here;
}

double TrainSettings::logging_interval(int64_t total) const {
  constexpr double kEntries = 50;
  if (logging_steps > 0) return logging_steps;
  const double wanted = static_cast<double>(total) / kEntries;
  if (wanted <= 1) return 1;
  // 1, 2 or 5 and zeros, the nearest by its ratio.
  const double power = std::pow(10, std::floor(std::log10(wanted))), lead = wanted / power;
  return power * (lead < std::sqrt(2)    ? 1
                  : lead < std::sqrt(10) ? 2
                  : lead < std::sqrt(50) ? 5
                                         : 10);
}

#define HONE_BIND TrainSettings::bind
#define HONE_SETTINGS "learn/train/settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
