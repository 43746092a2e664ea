// Errors that all communication engines share.
#pragma once

#include <string_view>

#include "base/core/error.h"

namespace hone {

// H1502: rank `self` cannot exchange messages with rank `peer`, for the reason `why`.
Error peer_lost(int self, int peer, std::string_view why);
// H1504: a message from rank `peer` has `got` bytes, but rank `self` waits for `expected` bytes.
Error message_differs(int self, int peer, size_t expected, size_t got);

}  // namespace hone
