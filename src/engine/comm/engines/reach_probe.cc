#include "engine/comm/engines/reach_probe.h"

#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <thread>

#include "base/core/clock.h"
#include "base/core/file_descriptor.h"
#include "base/ranks/world.h"
#include "engine/comm/engines/errors.h"

namespace hone {
namespace {

constexpr size_t kProbeBytes = 65536;
constexpr size_t kMostProbes = 1024;  // open at once; a server drops further ones
constexpr double kProbePatience = 10;

// One connection: a probe sends the token and the bytes and then reads the bytes; a server does the
// reverse. Neither end blocks.
class ProbeEnd {
 public:
  ProbeEnd(FileDescriptor socket, bool serves, std::string token, double end)
      : socket_(std::move(socket)), serves_(serves), token_(std::move(token)), end_(end) {
    const size_t there = token_.size() + kProbeBytes;
    unread_ = serves ? there : kProbeBytes;
    unsent_ = serves ? kProbeBytes : there;
  }

  // The events that it waits for; 0: it has ended.
  short events() const {
    if (!socket_) return 0;
    return sends() ? POLLOUT : POLLIN;
  }
  int fd() const { return socket_.get(); }
  bool is_late(double now) const { return now > end_; }
  bool answered() const { return is_answered_; }
  void close() { socket_.close(); }

  void advance() {
    while (socket_) {
      const ssize_t moved = sends() ? send_some() : read_some();
      if (moved > 0) continue;
      if (moved < 0 && errno == EINTR) continue;
      if (moved < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return;
      close();
    }
  }

 private:
  bool sends() const { return serves_ ? unread_ == 0 : unsent_ > 0; }

  ssize_t send_some() {
    static constexpr char kZeros[4096] = {};
    const bool in_token = unsent_ > kProbeBytes;
    const size_t count = in_token ? unsent_ - kProbeBytes : std::min(unsent_, sizeof kZeros);
    const char* from = in_token ? token_.data() + (token_.size() - count) : kZeros;
    const ssize_t sent = ::send(socket_.get(), from, count, MSG_NOSIGNAL);
    if (sent > 0) unsent_ -= static_cast<size_t>(sent);
    if (serves_ && unsent_ == 0) close();
    return sent;
  }

  ssize_t read_some() {
    char bytes[4096];
    const size_t left = unread_ > kProbeBytes ? unread_ - kProbeBytes : unread_;
    const ssize_t got = ::recv(socket_.get(), bytes, std::min(left, sizeof bytes), 0);
    if (got <= 0) return got;
    if (unread_ > kProbeBytes) {  // the token
      const char* expected = token_.data() + (token_.size() - left);
      if (std::memcmp(bytes, expected, static_cast<size_t>(got)) != 0) return 0;
    }
    unread_ -= static_cast<size_t>(got);
    if (!serves_ && unread_ == 0) {
      is_answered_ = true;
      close();
    }
    return got;
  }

  FileDescriptor socket_;
  bool serves_;
  std::string token_;
  double end_;
  size_t unread_ = 0, unsent_ = 0;
  bool is_answered_ = false;
};

FileDescriptor started_connection(const ReachTarget& target) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = AI_NUMERICHOST;
  addrinfo* found = nullptr;
  if (::getaddrinfo(target.address.c_str(), std::to_string(target.port).c_str(), &hints, &found) !=
      0)
    return {};
  const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
  FileDescriptor fd(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  if (::connect(fd.get(), found->ai_addr, found->ai_addrlen) != 0 && errno != EINPROGRESS)
    fd.close();
  return fd;
}

// Waits up to 100 ms for the probes and `others`, and moves those probes on that are ready.
void poll_probes(std::vector<ProbeEnd>& probes, std::vector<pollfd>& others) {
  std::vector<pollfd> waits = others;
  for (const ProbeEnd& p : probes) waits.push_back({p.fd(), p.events(), 0});
  if (::poll(waits.data(), waits.size(), 100) < 0) return;
  std::copy_n(waits.begin(), others.size(), others.begin());
  const double now = system_clock().seconds();
  for (size_t i = 0; i < probes.size(); ++i) {
    if (waits[others.size() + i].revents != 0) probes[i].advance();
    if (probes[i].is_late(now)) probes[i].close();
  }
}

FileDescriptor wildcard_listener(int family, int& port) {
  FileDescriptor fd(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!fd) return fd;
  sockaddr_storage at{};
  at.ss_family = static_cast<sa_family_t>(family);
  const int both = 0;
  if (family == AF_INET6)
    (void)::setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &both, sizeof both);
  socklen_t size = family == AF_INET6 ? sizeof(sockaddr_in6) : sizeof(sockaddr_in);
  if (::bind(fd.get(), reinterpret_cast<sockaddr*>(&at), size) != 0 ||
      ::listen(fd.get(), SOMAXCONN) != 0 ||
      ::getsockname(fd.get(), reinterpret_cast<sockaddr*>(&at), &size) != 0)
    return {};
  port = ntohs(family == AF_INET6 ? reinterpret_cast<const sockaddr_in6&>(at).sin6_port
                                  : reinterpret_cast<const sockaddr_in&>(at).sin_port);
  return fd;
}

}  // namespace

class ReachServer::Loop {
 public:
  Loop(FileDescriptor listener, FileDescriptor stop, std::string token)
      : listener_(std::move(listener)), stop_(std::move(stop)), token_(std::move(token)) {
    thread_ = std::thread([this] { run(); });
  }
  ~Loop() {
    const uint64_t one = 1;
    while (::write(stop_.get(), &one, sizeof one) < 0 && errno == EINTR) {
    }
    thread_.join();
  }

 private:
  void run() {
    std::vector<ProbeEnd> probes;
    for (;;) {
      std::vector<pollfd> others = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      poll_probes(probes, others);
      if (others[0].revents != 0) return;
      std::erase_if(probes, [](const ProbeEnd& p) { return p.events() == 0; });
      for (;;) {
        FileDescriptor fd(
            ::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
        if (!fd) break;
        if (probes.size() < kMostProbes)
          probes.emplace_back(std::move(fd), true, token_,
                              system_clock().seconds() + kProbePatience);
      }
    }
  }

  FileDescriptor listener_, stop_;
  std::string token_;
  std::thread thread_;
};

ReachServer::ReachServer() : token_(new_ranks_token()) {}
ReachServer::~ReachServer() = default;

Result<std::unique_ptr<ReachServer>> ReachServer::start() {
  std::unique_ptr<ReachServer> server(new ReachServer);
  FileDescriptor listener = wildcard_listener(AF_INET6, server->port_);
  if (!listener) listener = wildcard_listener(AF_INET, server->port_);
  FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
  if (!listener || !stop)
    return Error(err::kRanksApart,
                 fmt::format("this host cannot listen for other ranks: {}", std::strerror(errno)))
        .todo("raise the limit of open files, or allow this process to listen");
  server->loop_ = std::make_unique<Loop>(std::move(listener), std::move(stop), server->token_);
  return server;
}

std::vector<char> reached_targets(std::span<const ReachTarget> targets, double patience_s) {
  const double end = system_clock().seconds() + patience_s;
  std::vector<ProbeEnd> probes;
  for (const ReachTarget& t : targets)
    probes.emplace_back(started_connection(t), false, t.token, end);
  std::vector<pollfd> none;
  const auto is_open = [](const ProbeEnd& p) { return p.events() != 0; };
  while (std::any_of(probes.begin(), probes.end(), is_open)) poll_probes(probes, none);
  std::vector<char> reached;
  for (const ProbeEnd& p : probes) reached.push_back(p.answered());
  return reached;
}

}  // namespace hone
