// Writes JSON for the pages of hone ui.
#pragma once

#include <string>

#include "base/core/json.h"

namespace hone {

// A value as JSON on one line, without its secrets (base/core/redact.h). NaN and Infinity become texts, because
// browsers cannot parse them as numbers.
std::string browser_json(const OrderedJson& value);
// Rows of data as JSON on one line. Secrets are not removed, because a column may have a name such as "token" that
// looks like the name of a secret. NaN and Infinity become texts.
std::string browser_rows_json(const OrderedJson& rows);

}  // namespace hone
