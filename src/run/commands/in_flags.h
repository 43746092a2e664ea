// Rewrites errors, and findings about data, in the user's words. Names of settings become the flags of the command
// (base/settings/flag_names.h). Paths of copies that hone pull made become the names that the user gave. The remedy for
// text that is not UTF-8 gets a command that writes a clean copy of the file.
#pragma once

#include "base/settings/settings.h"
#include "learn/check/finding.h"

namespace hone {

Result<int> in_flags(const Schema& schema, Result<int> done);  // a value is returned unchanged
Findings in_flags(const Schema& schema, const Findings& findings);

// Removes the number of an argument from a place in an error of Schema::parse(): "argument 17: --max_length 0" becomes
// "--max_length 0". Use it if the user did not type the arguments. Other places are returned unchanged.
std::string uncounted_argument(const std::string& place);

}  // namespace hone
