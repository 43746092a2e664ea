// The learning rate of a registered run as people know it.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

std::string learning_rate_of(const OrderedJson& settings);  // "5e-05"; "": none

}  // namespace hone
