// The settings of every training task as a plain struct.
#pragma once

#include "base/settings/settings.h"

namespace hone {

struct TrainSettings {
#define HONE_SETTINGS "learn/train/settings.def"
#include "base/settings/fields.inc"
};

}  // namespace hone
