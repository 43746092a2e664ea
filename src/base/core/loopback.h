// Recognizes the loopback addresses, by which a machine reaches itself.
#pragma once

#include <string_view>

namespace hone {

// Returns true for localhost, ::1, [::1] and IPv4 addresses 127.x.x.x. A host name that only begins with "127.", such
// as 127.example.com, is not one: it may be another machine.
inline bool is_loopback(std::string_view host) {
  return host == "localhost" || host == "::1" || host == "[::1]" ||
         (host.starts_with("127.") &&
          host.find_first_not_of("0123456789.") == std::string_view::npos);
}

}  // namespace hone
