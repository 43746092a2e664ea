#include "learn/train/settings.h"

#include "base/core/text.h"

namespace hone {

TrainSettings::TrainSettings() = default;
TrainSettings::TrainSettings(const TrainSettings&) = default;
TrainSettings& TrainSettings::operator=(const TrainSettings&) = default;
TrainSettings::~TrainSettings() = default;

#define HONE_BIND TrainSettings::bind
#define HONE_SETTINGS "learn/train/settings.def"
#include "base/settings/bind.inc"

}  // namespace hone
