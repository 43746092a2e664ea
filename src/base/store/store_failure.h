// Turns the failure of a system call into an Error for users.
#pragma once

#include <cstdint>
#include <string>

#include "base/core/error.h"

namespace hone {

// `result` is a negative errno: "cannot <doing> '<path>': ...", with the code H01xx and a remedy.
Error store_failure(int64_t result, const std::string& doing, const std::string& path);

}  // namespace hone
