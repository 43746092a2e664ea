// Puts the names of flags into Errors from code that does not know the command line. Such code writes the name of a
// setting in backquotes, `text_column`. The functions replace it by --text_column if the command's schema has this
// setting. Other words in backquotes stay.
#pragma once

#include "base/settings/settings.h"

namespace hone {

std::string with_flags(const Schema& schema, std::string_view text);
// Replaces names in the message, the places and the remedy; the code stays.
Error with_flags(const Schema& schema, const Error& error);

}  // namespace hone
