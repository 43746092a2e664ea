#include "base/ranks/connection.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "base/ranks/errors.h"

namespace hone {
namespace {

constexpr int kGoneMs = 5000;  // after which a host that does not answer counts as gone
constexpr int kConnectMs = 5000;
constexpr int kMostReads = 16;  // of one call
// Bytes of a packet: they pass paths that silently lose larger ones, so that the culprit can still be named.
constexpr int kSegmentBytes = 1200;
constexpr double kLongestPause = 1, kSayAfter = 5;

void set_number(int fd, int level, int option, int value) {
  (void)::setsockopt(fd, level, option, &value, sizeof value);
}

void set_options(int fd) {
  set_number(fd, IPPROTO_TCP, TCP_NODELAY, 1);
  set_number(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, kGoneMs);
  set_number(fd, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_number(fd, IPPROTO_TCP, TCP_KEEPIDLE, 2);
  set_number(fd, IPPROTO_TCP, TCP_KEEPINTVL, 1);
  set_number(fd, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

FileDescriptor bound_socket(int family, int port, bool loopback) {
  FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  set_number(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  set_number(fd.get(), IPPROTO_TCP, TCP_MAXSEG, kSegmentBytes);  // of accepted connections
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(static_cast<uint16_t>(port));
  v4.sin_addr.s_addr = htonl(loopback ? INADDR_LOOPBACK : INADDR_ANY);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = v4.sin_port;
  if (family == AF_INET6) set_number(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  const bool bound = family == AF_INET6
                         ? ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&v6), sizeof v6) == 0
                         : ::bind(fd.get(), reinterpret_cast<const sockaddr*>(&v4), sizeof v4) == 0;
  if (bound && ::listen(fd.get(), SOMAXCONN) == 0) return fd;
  return FileDescriptor();
}

using Addresses = std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)>;

// One try at all addresses of a host; a reason if it failed.
FileDescriptor connect_once(const std::string& host, int port, std::string& why) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int code = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
      code != 0) {
    why = ::gai_strerror(code);
    return {};
  }
  const Addresses all(found, &::freeaddrinfo);
  for (const addrinfo* a = found; a != nullptr; a = a->ai_next) {
    FileDescriptor fd(
        ::socket(a->ai_family, a->ai_socktype | SOCK_CLOEXEC | SOCK_NONBLOCK, a->ai_protocol));
    if (!fd) continue;
    set_number(fd.get(), IPPROTO_TCP, TCP_MAXSEG, kSegmentBytes);
    int failed = ::connect(fd.get(), a->ai_addr, a->ai_addrlen) == 0 ? 0 : errno;
    if (failed == EINPROGRESS) {
      pollfd ready{fd.get(), POLLOUT, 0};
      socklen_t size = sizeof failed;
      failed = ETIMEDOUT;
      if (::poll(&ready, 1, kConnectMs) > 0)
        (void)::getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &failed, &size);
    }
    if (failed == 0) return fd;
    why = std::strerror(failed);
  }
  return {};
}

}  // namespace

FileDescriptor Listener::accept(double now) {
  constexpr double kRestSeconds = 0.25;
  FileDescriptor fd(::accept4(socket.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  if (!fd && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM))
    rests_until = now + kRestSeconds;
  return fd;
}

short Listener::events(double now) const { return now < rests_until ? 0 : POLLIN; }

Result<Listener> listen_at(int port, bool loopback) {
  Listener listener{bound_socket(loopback ? AF_INET : AF_INET6, port, loopback)};
  if (!listener.socket && !loopback) listener.socket = bound_socket(AF_INET, port, false);
  sockaddr_storage at{};
  socklen_t size = sizeof at;
  if (!listener.socket ||
      ::getsockname(listener.socket.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return Error(err::kControlPort, fmt::format("the control plane cannot listen at port {}: {}",
                                                port, std::strerror(errno)))
        .todo("choose another port, or none: then the kernel chooses a free one");
  listener.port =
      ntohs(at.ss_family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(at).sin6_port
                                     : reinterpret_cast<const sockaddr_in&>(at).sin_port);
  return listener;
}

Result<FileDescriptor> connect_to(const std::string& host, int port,
                                  const ConnectOptions& options) {
  Clock& clock = *options.clock;
  const double begin = clock.seconds();
  double pause = 0.05, say_at = kSayAfter;
  for (;;) {
    std::string why;
    FileDescriptor fd = connect_once(host, port, why);
    if (fd) return fd;
    const double waited = clock.seconds() - begin;
    if (waited >= options.patience_s)
      return Error(err::kControlLost,
                   fmt::format("the control plane at {}:{} cannot be reached: {}", host, port, why))
          .todo("check that rank 0 or its launcher runs, and that this host reaches the address");
    if (waited >= say_at && options.say) {
      options.say(fmt::format("waits for the control plane at {}:{} for {}: {}", host, port,
                              format_duration(waited), why));
      say_at *= 3;
    }
    clock.sleep(std::min(pause, options.patience_s - waited));
    pause = std::min(2 * pause, kLongestPause);
  }
}

FrameConnection::FrameConnection(FileDescriptor socket, FrameLimits limits)
    : socket_(std::move(socket)), reader_(limits) {
  set_options(socket_.get());
}

bool FrameConnection::read() {
  char buffer[65536];
  // A fast peer must not keep its reader here: frames are checked between calls.
  for (int reads = 0; reads < kMostReads;) {
    const ssize_t got = ::recv(socket_.get(), buffer, sizeof buffer, 0);
    if (got == 0) return false;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return errno == EAGAIN || errno == EWOULDBLOCK;
    reader_.add({buffer, static_cast<size_t>(got)});
    if (got < static_cast<ssize_t>(sizeof buffer)) break;
    ++reads;
  }
  return true;
}

bool FrameConnection::write() {
  size_t sent = 0;
  bool open = true;
  while (sent < unsent_.size()) {
    const ssize_t put =
        ::send(socket_.get(), unsent_.data() + sent, unsent_.size() - sent, MSG_NOSIGNAL);
    if (put > 0) sent += static_cast<size_t>(put);
    if (put < 0 && errno != EINTR) {
      open = errno == EAGAIN || errno == EWOULDBLOCK;
      break;
    }
  }
  unsent_.erase(0, sent);
  return open;
}

}  // namespace hone
