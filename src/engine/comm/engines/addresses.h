// Network addresses of this host.
#pragma once

#include <string>
#include <vector>

namespace hone {

struct HostAddress {
  std::string interface;  // "eth0"
  std::string address;    // numeric
  bool is_v6 = false;
};

// The addresses of all interfaces that are up, those of the loopback last; before all others the
// one from which this host reaches `towards`, a name or address ("": unknown). Addresses that are
// valid on one link alone are left out.
std::vector<HostAddress> host_addresses(const std::string& towards);
// Whether only processes of this host reach it: 127.x.y.z, ::1.
bool is_own_host(const HostAddress& address);

}  // namespace hone
