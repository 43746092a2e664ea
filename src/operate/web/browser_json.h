// JSON for the pages of hone ui.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// Values without secrets (base/core/redact.h), on one line. NaN and Infinity are sent as texts, because browsers
// cannot parse them.
std::string browser_json(const OrderedJson& value);

}  // namespace hone
