// Returns facts about a registered run for tables.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// The learning rate from the settings of a run, "5e-05"; "" if there is none.
std::string learning_rate_of(const OrderedJson& settings);

}  // namespace hone
