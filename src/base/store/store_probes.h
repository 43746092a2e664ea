// Facts for `hone doctor`: free disk space and permissions, and the settings of the Hugging Face hub.
#pragma once

#include "base/core/probe.h"

namespace hone {

Probe probe_disk();  // the current folder and the hub's cache folder
Probe probe_hub();   // endpoint, cache folder, offline or not, token or not

}  // namespace hone
