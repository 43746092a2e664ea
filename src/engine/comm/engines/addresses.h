// Network addresses of this host.
#pragma once

#include <string>
#include <vector>

namespace hone {

struct HostAddress {
  std::string interface;  // "eth0"
  std::string address;    // numeric, such as "10.0.0.5"
  bool is_v6 = false;
};

// The addresses of all interfaces that are up. `towards` is the name or address of another host; "": unknown. The
// source address of packets to that host comes first. Loopback addresses come last. Link-local addresses (fe80:) are
// left out.
std::vector<HostAddress> host_addresses(const std::string& towards);
// Whether it is a loopback address (127.x.y.z or ::1), which only processes of this host reach.
bool is_own_host(const HostAddress& address);

}  // namespace hone
