// Makes an Error from the errno of a failed system call.
#pragma once

#include <cstdint>
#include <string>

#include "base/core/error.h"

namespace hone {

// The Error "cannot <doing> '<path>': <the system's text>" for a negative errno `result`. Codes: H0101 for ENOENT and
// ENOTDIR, H0102 for EACCES, EPERM and EROFS, H0103 for ENOSPC, EDQUOT and EFBIG, H0104 for others.
Error store_failure(int64_t result, const std::string& doing, const std::string& path);

}  // namespace hone
