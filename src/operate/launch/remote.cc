#include "operate/launch/remote.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <sys/socket.h>
#include <unistd.h>

#include <memory>

#include "base/core/file_descriptor.h"
#include "base/core/text.h"
#include "operate/launch/errors.h"

namespace hone {

Result<std::string> address_towards(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), "1", &hints, &found);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, [](addrinfo* a) {
    if (a != nullptr) ::freeaddrinfo(a);
  });
  for (const addrinfo* a = found; code == 0 && a != nullptr; a = a->ai_next) {
    const FileDescriptor fd(::socket(a->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    sockaddr_storage own{};
    socklen_t size = sizeof own;
    char text[256];
    // Nothing is sent: the kernel chooses the interface.
    if (fd && ::connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0 &&
        ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&own), &size) == 0 &&
        ::getnameinfo(reinterpret_cast<sockaddr*>(&own), size, text, sizeof text, nullptr, 0,
                      NI_NUMERICHOST) == 0)
      return std::string(text);
  }
  return Error(err::kLaunchRequest,
               fmt::format("there is no way to the host '{}'{}", host,
                           code != 0 ? fmt::format(": {}", ::gai_strerror(code)) : ""))
      .todo(
          "check its name, or give the address of this machine as "
          "--main_process_ip");
}

std::map<std::string, std::string> run_variables(const LaunchRequest& r) {
  std::map<std::string, std::string> variables = {{"HONE_RANKS_EPOCH", std::to_string(r.epoch)}};
  if (r.full_ranks > r.ranks) variables["HONE_RANKS_FULL"] = std::to_string(r.full_ranks);
  if (!r.run_id.empty()) variables["HONE_RUN_ID"] = r.run_id;
  if (!r.memory.empty()) variables["HONE_RUN_MEMORY"] = r.memory;
  return variables;
}

std::map<std::string, std::string> control_variables(const LaunchRequest& r,
                                                     const std::string& address, int port) {
  std::map<std::string, std::string> variables = run_variables(r);
  variables["MASTER_ADDR"] = address;
  variables["MASTER_PORT"] = std::to_string(port);
  variables["HONE_RANKS_SERVED"] = "1";
  return variables;
}

bool is_own_address(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int code = ::getaddrinfo(host.c_str(), "0", &hints, &found);
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> all(found, [](addrinfo* a) {
    if (a != nullptr) ::freeaddrinfo(a);
  });
  for (const addrinfo* a = found; code == 0 && a != nullptr; a = a->ai_next) {
    const FileDescriptor fd(::socket(a->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd && ::bind(fd.get(), a->ai_addr, a->ai_addrlen) == 0) return true;
  }
  return false;
}

std::string host_list(const std::vector<HostSlots>& hosts) {
  std::vector<std::string> parts;
  for (const HostSlots& h : hosts) parts.push_back(fmt::format("{}:{}", h.host, h.slots.size()));
  return join(parts, ",");
}

int slots_of(const std::vector<HostSlots>& hosts) {
  size_t slots = 0;
  for (const HostSlots& h : hosts) slots += h.slots.size();
  return static_cast<int>(slots);
}

}  // namespace hone
