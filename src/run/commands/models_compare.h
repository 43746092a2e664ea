// The command hone models compare, which prints two versions of models side by side. The facts that decide which one is
// better come first.
#pragma once

#include <string>

#include "run/commands/models_show.h"

namespace hone {

// Compares the versions `reference` and `against`, such as "news:3". Returns the exit status. Errors: those of the
// registry.
Result<int> compare_models(Registry& registry, const std::string& reference,
                           const std::string& against, const Shown& how);

}  // namespace hone
