// The settings of hone prepare besides those of its task.
#pragma once

#include "base/settings/settings.h"

namespace hone {

struct PrepareOnly {
#define HONE_SETTINGS "run/commands/prepare.def"
#include "base/settings/fields.inc"
};

}  // namespace hone
