// Errors and findings of data with the flags of the command: rooms of data name settings alone
// (base/settings/flag_names.h). Files that hone pull copied have the names of the user's own. Text that
// is not UTF-8 gets a command that writes a clean copy.
#pragma once

#include "base/settings/settings.h"
#include "learn/check/finding.h"

namespace hone {

Result<int> in_flags(const Schema& schema, Result<int> done);
Findings in_flags(const Schema& schema, const Findings& findings);

// "--max_length 0" of the place "argument 17: --max_length 0", for arguments that the user did not type;
// other places unchanged.
std::string uncounted_argument(const std::string& place);

}  // namespace hone
