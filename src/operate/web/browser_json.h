// Writes JSON for the pages of hone ui.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// A value without secrets (base/core/redact.h), on one line. NaN and Infinity become texts, because browsers cannot
// parse them as numbers.
std::string browser_json(const OrderedJson& value);
// Rows of data, on one line. Secrets are not removed: a column may have a name such as "token". NaN and Infinity become
// texts.
std::string browser_rows_json(const OrderedJson& rows);

}  // namespace hone
