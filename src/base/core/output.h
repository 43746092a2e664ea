// Standard output of a command.
#pragma once

#include <string_view>

namespace hone {

// Writes bytes to standard output at once. A failure throws OutputClosed, which main turns into a
// quiet end (the reader of a pipe left) or an Error (a full disk).
struct OutputClosed {
  int reason;  // errno
};
void print_out(std::string_view text);

}  // namespace hone
