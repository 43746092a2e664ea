#include "engine/comm/engines/addresses.h"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <memory>

#include "base/core/file_descriptor.h"

namespace hone {
namespace {

// "" if it is not an address of IPv4 or IPv6.
std::string numeric_address(const sockaddr* at) {
  char text[INET6_ADDRSTRLEN] = {};
  if (at->sa_family == AF_INET)
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(at)->sin_addr, text, sizeof text);
  if (at->sa_family == AF_INET6)
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(at)->sin6_addr, text, sizeof text);
  return text;
}

// The address with which packets to `towards` leave; no packet is sent.
std::string route_source(const std::string& towards) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  if (towards.empty() || ::getaddrinfo(towards.c_str(), "9", &hints, &found) != 0) return "";
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    const FileDescriptor fd(::socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage source{};
    socklen_t size = sizeof source;
    auto* at = reinterpret_cast<sockaddr*>(&source);
    if (fd && ::connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0 &&
        ::getsockname(fd.get(), at, &size) == 0)
      return numeric_address(at);
  }
  return "";
}

}  // namespace

bool is_own_host(const HostAddress& a) {
  return a.address == "::1" || a.address.starts_with("127.");
}

std::vector<HostAddress> host_addresses(const std::string& towards) {
  std::vector<HostAddress> all;
  ifaddrs* found = nullptr;
  if (::getifaddrs(&found) != 0) return all;
  const std::unique_ptr<ifaddrs, decltype(&::freeifaddrs)> owner(found, &::freeifaddrs);
  for (const ifaddrs* i = found; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    HostAddress a{i->ifa_name, numeric_address(i->ifa_addr), i->ifa_addr->sa_family == AF_INET6};
    if (!a.address.empty() && !a.address.starts_with("fe80:")) all.push_back(std::move(a));
  }
  const std::string first = route_source(towards);
  std::stable_sort(all.begin(), all.end(), [&](const HostAddress& a, const HostAddress& b) {
    const auto place = [&](const HostAddress& x) {
      return is_own_host(x) ? 2 : x.address == first ? 0 : 1;
    };
    return place(a) < place(b);
  });
  return all;
}

}  // namespace hone
