// What a system call's refusal means to a user.
#pragma once

#include <cstdint>
#include <string>

#include "base/core/error.h"

namespace hone {

// `result` is a negative errno: "cannot <doing> '<path>': ...", as H01xx says, with what to do.
Error store_failure(int64_t result, const std::string& doing, const std::string& path);

}  // namespace hone
