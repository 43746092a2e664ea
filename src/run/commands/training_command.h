// The command that trains a registered model again.
#pragma once

#include <string>

#include "operate/registry/registry.h"

namespace hone {

// With the flags that differ from their defaults, into a folder that the registry does not name; in the
// folder of the run, if this machine has it.
std::string training_command(const ModelVersion& version, const RegisteredRun& run);
// The settings of the run that this hone lacks, as flags; "": none.
std::string unknown_settings(const RegisteredRun& run);

}  // namespace hone
