// Errors of rooms that know no flags. They name a setting in backquotes, `text_column`; for the user
// of a schema that has the setting it becomes the flag, --text_column. Other words in backquotes stay.
#pragma once

#include "base/settings/settings.h"

namespace hone {

std::string with_flags(const Schema& schema, std::string_view text);
Error with_flags(const Schema& schema, const Error& error);

}  // namespace hone
