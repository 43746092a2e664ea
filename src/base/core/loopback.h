// Names of this machine for itself.
#pragma once

#include <string_view>

namespace hone {

// A name that begins with 127. may be anybody's; an address has digits alone.
inline bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" ||
         (host.starts_with("127.") &&
          host.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace hone
