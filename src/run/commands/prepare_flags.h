// The settings of hone prepare, in addition to those of the task.
#pragma once

#include "base/settings/settings.h"

namespace hone {

struct PrepareOnly {
#define HONE_SETTINGS "run/commands/prepare.def"
#include "base/settings/fields.inc"
};

}  // namespace hone
