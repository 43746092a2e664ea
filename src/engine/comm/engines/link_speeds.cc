#include "engine/comm/engines/link_speeds.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <list>
#include <thread>

#include "base/core/clock.h"
#include "base/core/file_descriptor.h"
#include "base/core/json.h"
#include "base/core/system_files.h"
#include "base/ranks/connection.h"
#include "engine/comm/engines/addresses.h"
#include "engine/comm/engines/errors.h"

namespace hone {
namespace {

constexpr double kServerPatience = 10;
constexpr size_t kMostEchoes = 64;  // connections at once; a server drops further ones
constexpr uint32_t kMostEchoBytes = 64u << 20;
constexpr int64_t kEchoBlock = 65536;

// The request of a client: it sends `there` bytes, and the server answers with `back`.
struct EchoRequest {
  uint32_t there = 0, back = 0;
};

void limit_waits(int fd, double seconds) {
  const timeval limit{static_cast<time_t>(seconds),
                      static_cast<suseconds_t>(std::fmod(seconds, 1) * 1e6)};
  const int one = 1;
  (void)::setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  (void)::setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
}

// All bytes, each part of them within the socket's limit and all before `end`.
bool move_all(int64_t bytes, double end, const std::function<ssize_t(size_t done)>& some) {
  for (size_t done = 0; done < static_cast<size_t>(bytes);) {
    const ssize_t moved = some(done);
    if (moved < 0 && errno == EINTR) continue;
    if (moved <= 0 || system_clock().seconds() > end) return false;
    done += static_cast<size_t>(moved);
  }
  return true;
}
bool send_bytes(int fd, const char* from, int64_t bytes, double end) {
  return move_all(bytes, end, [&](size_t done) {
    return ::send(fd, from + done, static_cast<size_t>(bytes) - done, MSG_NOSIGNAL);
  });
}
bool read_bytes(int fd, char* to, int64_t bytes, double end) {
  return move_all(bytes, end, [&](size_t done) {
    return ::recv(fd, to + done, static_cast<size_t>(bytes) - done, 0);
  });
}

double end_after(double seconds) { return system_clock().seconds() + seconds; }

void serve_echo(const FileDescriptor& socket, const std::string& token) {
  const int fd = socket.get();
  limit_waits(fd, kServerPatience);
  std::string shown(token.size(), '\0');
  if (!read_bytes(fd, shown.data(), std::ssize(shown), end_after(kServerPatience))) return;
  if (shown != token) return;
  std::vector<char> bytes;
  for (EchoRequest request; read_bytes(fd, reinterpret_cast<char*>(&request), sizeof request,
                                       end_after(kServerPatience));) {
    if (std::max(request.there, request.back) > kMostEchoBytes) return;
    bytes.resize(std::max<size_t>(bytes.size(), std::max(request.there, request.back)));
    if (!read_bytes(fd, bytes.data(), request.there, end_after(kServerPatience)) ||
        !send_bytes(fd, bytes.data(), request.back, end_after(kServerPatience)))
      return;
  }
}

// Asks an EchoServer.
class EchoClient {
 public:
  EchoClient(const std::string& address, int port, double patience_s) : patience_s_(patience_s) {
    addrinfo hints{};
    hints.ai_socktype = SOCK_STREAM;
    hints.ai_flags = AI_NUMERICHOST;
    addrinfo* found = nullptr;
    if (::getaddrinfo(address.c_str(), std::to_string(port).c_str(), &hints, &found) != 0) return;
    const std::unique_ptr<addrinfo, decltype(&::freeaddrinfo)> all(found, &::freeaddrinfo);
    socket_ = FileDescriptor(::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket_) return;
    limit_waits(socket_.get(), patience_s);  // of connect() too
    if (::connect(socket_.get(), found->ai_addr, found->ai_addrlen) != 0) socket_.close();
  }

  bool connected() const { return static_cast<bool>(socket_); }
  bool show(const std::string& token) {
    return send_bytes(socket_.get(), token.data(), std::ssize(token), end_after(patience_s_));
  }
  // Seconds of a message there and back; below 0: it did not arrive.
  double exchange(int64_t there, int64_t back) {
    bytes_.resize(std::max<size_t>(bytes_.size(), static_cast<size_t>(std::max(there, back))));
    const EchoRequest request{static_cast<uint32_t>(there), static_cast<uint32_t>(back)};
    const double begin = system_clock().seconds(), end = begin + patience_s_;
    const int fd = socket_.get();
    const bool done =
        send_bytes(fd, reinterpret_cast<const char*>(&request), sizeof request, end) &&
        send_bytes(fd, bytes_.data(), there, end) && read_bytes(fd, bytes_.data(), back, end);
    return done ? system_clock().seconds() - begin : -1;
  }
  // The median; below 0: one did not arrive.
  double exchange(int64_t there, int64_t back, int times) {
    std::vector<double> seconds;
    for (int i = 0; i < times; ++i) {
      seconds.push_back(exchange(there, back));
      if (seconds.back() < 0) return -1;
    }
    std::nth_element(seconds.begin(), seconds.begin() + times / 2, seconds.end());
    return seconds[static_cast<size_t>(times) / 2];
  }

 private:
  double patience_s_;
  FileDescriptor socket_;
  std::vector<char> bytes_;
};

// Bytes of a message that takes about a third of a second.
int64_t large_bytes(double block_s) {
  const double bytes = static_cast<double>(kEchoBlock) * 0.3 / std::max(block_s, 1e-6);
  return static_cast<int64_t>(std::clamp(bytes, 262144.0, 16.0 * (1 << 20)));
}

struct MeasuredHost {
  std::string host;
  std::vector<HostAddress> addresses;
  std::vector<int64_t> mtus;
  int port = 0;
  std::string token;
};

MeasuredHost this_host(const World& world, const EchoServer& server) {
  MeasuredHost h{.host = world.host,
                 .addresses = host_addresses(world.address),
                 .mtus = {},
                 .port = server.port(),
                 .token = server.token()};
  const auto leads_elsewhere = [](const HostAddress& a) { return !is_own_host(a); };
  if (world.local_ranks == world.ranks)
    std::erase_if(h.addresses, leads_elsewhere);
  else if (std::any_of(h.addresses.begin(), h.addresses.end(), leads_elsewhere))
    std::erase_if(h.addresses, is_own_host);
  for (const HostAddress& a : h.addresses)
    h.mtus.push_back(std::atoll(first_line("/sys/class/net/" + a.interface + "/mtu").c_str()));
  return h;
}

Json json_of(const MeasuredHost& h) {
  Json j = {{"host", h.host}, {"port", h.port}, {"token", h.token}};
  j["addresses"] = Json::array();
  for (size_t i = 0; i < h.addresses.size(); ++i)
    j["addresses"].push_back({h.addresses[i].interface, h.addresses[i].address, h.mtus[i]});
  return j;
}

Json json_of(const LinkSpeed& l) {
  return {l.from,
          l.to,
          l.from_host,
          l.to_host,
          l.interface,
          l.address,
          l.mtu,
          l.speed.answers,
          l.speed.small_s,
          l.speed.block_s,
          l.speed.bytes_per_s,
          l.speed.least_lost};
}

Error strange_rank(int rank) {
  return Error(err::kRanksApart,
               fmt::format("rank {} describes its measurements in an unknown way", rank))
      .todo("start every rank with the same version of hone");
}

Result<MeasuredHost> host_of(const Json& j, int rank) {
  try {
    MeasuredHost h{.host = j.at("host").get<std::string>(),
                   .addresses = {},
                   .mtus = {},
                   .port = j.at("port").get<int>(),
                   .token = j.at("token").get<std::string>()};
    for (const Json& a : j.at("addresses")) {
      h.addresses.push_back({a.at(0).get<std::string>(), a.at(1).get<std::string>()});
      h.mtus.push_back(a.at(2).get<int64_t>());
    }
    return h;
  } catch (const Json::exception&) {
    return strange_rank(rank);
  }
}

Result<std::vector<LinkSpeed>> speeds_of(const Json& j, int rank) {
  try {
    std::vector<LinkSpeed> all;
    for (const Json& l : j)
      all.push_back({l.at(0).get<int>(),
                     l.at(1).get<int>(),
                     l.at(2).get<std::string>(),
                     l.at(3).get<std::string>(),
                     l.at(4).get<std::string>(),
                     l.at(5).get<std::string>(),
                     l.at(6).get<int64_t>(),
                     {l.at(7).get<bool>(), l.at(8).get<double>(), l.at(9).get<double>(),
                      l.at(10).get<double>(), l.at(11).get<int64_t>()}});
    return all;
  } catch (const Json::exception&) {
    return strange_rank(rank);
  }
}

// Values of all ranks by name.
class Meetings {
 public:
  Meetings(const World& world, KeyValues& keys) : world_(world), keys_(keys) {}
  Result<std::vector<Json>> gather(const Json& mine) {
    const std::string name = fmt::format("links/{}/{}", world_.epoch, count_++);
    HONE_TRY(keys_.set(fmt::format("{}/{}", name, world_.rank), dump_json(mine)));
    std::vector<Json> all;
    for (int r = 0; r < world_.ranks; ++r) {
      const std::string text = HONE_TRY(keys_.get(fmt::format("{}/{}", name, r)));
      all.push_back(HONE_TRY(parse_json(text, name)));
    }
    return all;
  }

 private:
  const World& world_;
  KeyValues& keys_;
  int count_ = 0;
};

}  // namespace

class EchoServer::Loop {
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
  struct Echo {
    FileDescriptor socket;
    std::atomic<bool> ended = false;
    std::thread thread;
  };

  void run() {
    std::list<Echo> echoes;
    for (;;) {
      pollfd waits[] = {{stop_.get(), POLLIN, 0}, {listener_.get(), POLLIN, 0}};
      if (::poll(waits, 2, -1) < 0) continue;
      if (waits[0].revents != 0) break;
      end_some(echoes, false);
      FileDescriptor fd(::accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!fd || echoes.size() >= kMostEchoes) continue;
      Echo& echo = echoes.emplace_back();
      echo.socket = std::move(fd);
      echo.thread = std::thread([this, &echo] {
        serve_echo(echo.socket, token_);
        ::shutdown(echo.socket.get(), SHUT_RDWR);
        echo.ended = true;
      });
    }
    end_some(echoes, true);
  }
  static void end_some(std::list<Echo>& echoes, bool all) {
    for (auto e = echoes.begin(); e != echoes.end();) {
      if (!all && !e->ended) {
        ++e;
        continue;
      }
      ::shutdown(e->socket.get(), SHUT_RDWR);
      e->thread.join();
      e = echoes.erase(e);
    }
  }

  FileDescriptor listener_, stop_;
  std::string token_;
  std::thread thread_;
};

EchoServer::EchoServer() : token_(new_ranks_token()) {}
EchoServer::~EchoServer() = default;

Result<std::unique_ptr<EchoServer>> EchoServer::start() {
  std::unique_ptr<EchoServer> server(new EchoServer);
  Result<Listener> listener = listen_at(0, false);
  FileDescriptor stop(::eventfd(0, EFD_CLOEXEC));
  if (!listener.ok() || !stop)
    return Error(err::kRanksApart,
                 fmt::format("this host cannot listen for other ranks: {}",
                             listener.ok() ? std::strerror(errno) : listener.error().what()))
        .todo("raise the limit of open files, or allow this process to listen");
  server->port_ = listener->port;
  server->loop_ =
      std::make_unique<Loop>(std::move(listener->socket), std::move(stop), server->token_);
  return server;
}

AddressSpeed measure_address(const std::string& address, int port, const std::string& token,
                             double patience_s) {
  AddressSpeed s;
  EchoClient client(address, port, patience_s);
  if (!client.connected() || !client.show(token)) return s;
  constexpr int64_t kSizes[] = {8, 512, 1200, 1400, 2048, 8192, kEchoBlock};
  for (const int64_t bytes : kSizes) {
    if (client.exchange(bytes, bytes) < 0) {
      s.least_lost = bytes;
      return s;
    }
    s.answers = true;
  }
  constexpr int kSmallTimes = 51, kBlockTimes = 15, kLargeTimes = 3;
  const double small = client.exchange(8, 8, kSmallTimes),
               block = client.exchange(kEchoBlock, kEchoBlock, kBlockTimes);
  if (small < 0 || block < 0) return s;
  s.small_s = small / 2;
  s.block_s = block / 2;
  const int64_t large = large_bytes(s.block_s);
  for (const bool there : {true, false}) {
    const double seconds =
        client.exchange(there ? large : 8, there ? 8 : large, kLargeTimes) - s.small_s;
    if (seconds <= 0) continue;
    const double speed = static_cast<double>(large) / seconds;
    s.bytes_per_s = s.bytes_per_s > 0 ? std::min(s.bytes_per_s, speed) : speed;
  }
  return s;
}

Result<std::vector<LinkSpeed>> measure_links(const World& world, KeyValues& keys) {
  const auto server = HONE_TRY(EchoServer::start());
  Meetings meetings(world, keys);
  std::vector<MeasuredHost> hosts;
  for (const Json& j : HONE_TRY(meetings.gather(json_of(this_host(world, *server)))))
    hosts.push_back(HONE_TRY(host_of(j, static_cast<int>(hosts.size()))));
  Json mine = Json::array();
  for (int turn = 0; turn < world.ranks; ++turn) {
    const int peer = ((turn - world.rank) % world.ranks + world.ranks) % world.ranks;
    if (peer > world.rank) {
      const MeasuredHost& h = hosts[static_cast<size_t>(peer)];
      for (size_t i = 0; i < h.addresses.size(); ++i)
        mine.push_back(
            json_of(LinkSpeed{.from = world.rank,
                              .to = peer,
                              .from_host = world.host,
                              .to_host = h.host,
                              .interface = h.addresses[i].interface,
                              .address = h.addresses[i].address,
                              .mtu = h.mtus[i],
                              .speed = measure_address(h.addresses[i].address, h.port, h.token)}));
    }
    HONE_TRY(meetings.gather(turn));
  }
  std::vector<LinkSpeed> all;
  const std::vector<Json> by_rank = HONE_TRY(meetings.gather(mine));
  for (size_t r = 0; r < by_rank.size(); ++r)
    for (LinkSpeed& l : HONE_TRY(speeds_of(by_rank[r], static_cast<int>(r))))
      all.push_back(std::move(l));
  std::sort(all.begin(), all.end(), [](const LinkSpeed& a, const LinkSpeed& b) {
    return std::pair(a.from, a.to) < std::pair(b.from, b.to);
  });
  return all;
}

}  // namespace hone
