// hone models compare: two versions side by side, the deciding facts first.
#pragma once

#include <string>

#include "run/commands/models_show.h"

namespace hone {

// Returns the exit status. Errors: those of the registry.
Result<int> compare_models(Registry& registry, const std::string& reference,
                           const std::string& against, const Shown& how);

}  // namespace hone
