// Makes the command that trains a registered model again.
#pragma once

#include <string>

#include "operate/registry/registry.h"

namespace hone {

// A shell command: hone train with the run's settings that differ from their defaults, and with a new output folder
// such as news_2_again. If the folder in which the run was started exists on this machine, the command begins with `cd`
// to it.
std::string training_command(const ModelVersion& version, const RegisteredRun& run);
// The settings of the run that this version of hone does not have, as flags: "--old_name --other_name"; "": none.
std::string unknown_settings(const RegisteredRun& run);

}  // namespace hone
