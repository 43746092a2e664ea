#include "base/core/output.h"

#include <unistd.h>

#include <cerrno>

namespace hone {

void print_out(std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n < 0) {
      if (errno == EINTR) continue;
      throw OutputClosed{errno};
    }
    text.remove_prefix(static_cast<size_t>(n));
  }
}

}  // namespace hone
