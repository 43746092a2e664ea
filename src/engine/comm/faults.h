// Errors that every engine of communication has.
#pragma once

#include <string_view>

#include "base/core/error.h"

namespace hone {

// H1502: rank `self` exchanges messages with `peer`, and cannot, because of `why`.
Error peer_lost(int self, int peer, std::string_view why);
// H1504: a message from `peer` has `got` bytes; rank `self` waits for `expected`.
Error message_differs(int self, int peer, size_t expected, size_t got);

}  // namespace hone
