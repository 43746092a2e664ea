// Standard output of a command.
#pragma once

#include <string_view>

namespace hone {

// Thrown by print_out(). main() ends the program silently if the reader of a pipe has closed it, and prints an error
// for other reasons, such as a full disk.
struct OutputClosed {
  int reason;  // the errno of write(2)
};
// Writes the text to standard output at once, without a buffer. Throws OutputClosed if writing fails.
void print_out(std::string_view text);

}  // namespace hone
