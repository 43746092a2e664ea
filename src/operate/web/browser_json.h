// JSON for the pages of hone ui.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// Values without secrets (base/core/redact.h), on one line. NaN and Infinity are sent as texts, because browsers
// cannot parse them.
std::string browser_json(const OrderedJson& value);
// Rows of data, whose columns may have the name of a secret: every value is shown as it is.
std::string browser_rows_json(const OrderedJson& rows);

}  // namespace hone
