#include "base/store/peers/peer_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <atomic>
#include <list>
#include <optional>
#include <thread>
#include <vector>

#include "base/core/error_report.h"
#include "base/core/secret.h"
#include "base/core/text.h"
#include "base/ranks/connection.h"
#include "base/ranks/errors.h"
#include "base/ranks/world.h"
#include "base/store/errors.h"
#include "base/store/store.h"

namespace hone {
namespace {

constexpr double kTickSeconds = 0.25;
constexpr double kStrangerSeconds = 10;  // in which a connection must show the token
constexpr int64_t kMostStrangers = 256;
constexpr size_t kMostUnsentBytes = size_t{2} << 20;
constexpr FrameLimits kRequestLimits = {size_t{16} << 10, 0};

bool is_inside(const std::string& file) {
  const std::vector<std::string> parts = split(file, '/');
  return !parts.empty() && file.find('\0') == std::string::npos &&
         std::none_of(parts.begin(), parts.end(), [](const std::string& part) {
           return part.empty() || part == "." || part == "..";
         });
}

// The rest of a range that is being answered.
struct Answer {
  std::unique_ptr<Reader> reader;
  int64_t at = 0, left = 0;
};

struct Peer {
  FrameConnection connection;
  double since = 0;
  bool known = false;  // it has shown the token
  bool ended = false;
  std::optional<Answer> answer = {};

  bool takes_more() const { return connection.unsent_bytes() < kMostUnsentBytes; }
  void fail(const Error& error) { connection.queue({{{"do", "failed"}}, report_line(error)}); }
};

}  // namespace

struct PeerServer::Serving {
  Serving(std::string f, std::string t) : folder(std::move(f)), token(std::move(t)) {}

  void run();
  void accept_peers();
  void drop_strangers();
  void serve(Peer& peer, bool readable);
  bool take(Peer& peer, const Frame& request);  // false: a stranger's
  Result<Frame> info_of(const std::string& file);
  Result<Answer> range_of(const Json& head, const std::string& file);
  void answer(Peer& peer);  // with the next piece

  const std::string folder, token;
  Listener listener;
  FileDescriptor wake;
  std::atomic<bool> stop = false;
  std::list<Peer> peers;  // oldest first
  std::thread thread;
};

void PeerServer::Serving::accept_peers() {
  const double now = system_clock().seconds();
  while (FileDescriptor fd = listener.accept(now))
    peers.push_back({FrameConnection(std::move(fd), kRequestLimits), now});
}

void PeerServer::Serving::drop_strangers() {
  const double now = system_clock().seconds();
  auto strangers =
      std::count_if(peers.begin(), peers.end(), [](const Peer& p) { return !p.known; });
  for (Peer& p : peers)
    if (!p.known && (strangers > kMostStrangers || now - p.since > kStrangerSeconds)) {
      p.ended = true;
      --strangers;
    }
  peers.remove_if([](const Peer& p) { return p.ended; });
}

Result<Frame> PeerServer::Serving::info_of(const std::string& file) {
  const Store::Info info = HONE_TRY(file_store().info(folder + "/" + file));
  return Frame{{{"do", "info"}, {"exists", info.exists && !info.folder}, {"bytes", info.bytes}},
               ""};
}

Result<Answer> PeerServer::Serving::range_of(const Json& head, const std::string& file) {
  Answer answer{HONE_TRY(file_store().open(folder + "/" + file)), whole_at(head, "at"),
                whole_at(head, "bytes")};
  const int64_t all = answer.reader->bytes();
  if (answer.left < 0 || answer.left > kPeerReadBytes || answer.at < 0 || answer.at > all ||
      answer.left > all - answer.at)
    return Error(err::kStoreShort, fmt::format("'{}' has {} bytes: not {} from byte {}", file, all,
                                               answer.left, answer.at));
  return answer;
}

bool PeerServer::Serving::take(Peer& peer, const Frame& request) {
  if (!equal_secrets(text_at(request.head, "token"), token)) return false;
  peer.known = true;
  const std::string what = text_at(request.head, "do"), file = text_at(request.head, "file");
  if (!is_inside(file)) {
    peer.fail(Error(err::kStoreDenied, "a file outside of the folder that is served"));
  } else if (what == "info") {
    const Result<Frame> info = info_of(file);
    if (info.ok())
      peer.connection.queue(*info);
    else
      peer.fail(info.error());
  } else if (what == "read") {
    Result<Answer> range = range_of(request.head, file);
    if (range.ok())
      peer.answer = std::move(*range);
    else
      peer.fail(range.error());
  } else {
    return false;
  }
  return true;
}

void PeerServer::Serving::answer(Peer& peer) {
  Answer& a = *peer.answer;
  Frame piece{{{"do", "bytes"}}, ""};
  piece.body.resize(static_cast<size_t>(std::min(a.left, kPeerPieceBytes)));
  const Status read = a.reader->read(a.at, std::as_writable_bytes(std::span(piece.body)));
  if (!read.ok()) {
    peer.fail(read.error());
    peer.answer.reset();
    return;
  }
  a.at += std::ssize(piece.body);
  a.left -= std::ssize(piece.body);
  if (!piece.body.empty()) peer.connection.queue(piece);
  if (a.left == 0) peer.answer.reset();
}

void PeerServer::Serving::serve(Peer& peer, bool readable) {
  if (readable && !peer.answer && !peer.connection.read()) peer.ended = true;
  while (!peer.ended && peer.takes_more()) {
    if (peer.answer) {
      answer(peer);
      continue;
    }
    const Result<std::optional<Frame>> request = peer.connection.next();
    if (request.ok() && !*request) break;
    peer.ended = !request.ok() || !take(peer, **request);
  }
  if (!peer.connection.write()) peer.ended = true;
}

void PeerServer::Serving::run() {
  std::vector<pollfd> polled;
  while (!stop) {
    polled = {{listener.socket.get(), listener.events(system_clock().seconds()), 0},
              {wake.get(), POLLIN, 0}};
    for (const Peer& p : peers) {
      const bool sends = p.answer || p.connection.unsent_bytes() > 0;
      polled.push_back({p.connection.fd(),
                        static_cast<short>((p.answer ? 0 : POLLIN) | (sends ? POLLOUT : 0)), 0});
    }
    (void)::poll(polled.data(), polled.size(), static_cast<int>(kTickSeconds * 1000));
    size_t at = 2;
    for (Peer& p : peers) {
      const short events = polled[at++].revents;
      if ((events & (POLLERR | POLLNVAL)) != 0) p.ended = true;
      if (!p.ended && events != 0) serve(p, (events & ~POLLOUT) != 0);
    }
    if (polled[0].revents != 0) accept_peers();
    drop_strangers();
  }
}

Result<std::unique_ptr<PeerServer>> PeerServer::open(std::string folder, std::string token,
                                                     bool loopback) {
  if (token.empty())
    return Error(err::kRankRefused, "files are served to holders of a token alone")
        .todo(fmt::format("set it for all ranks: export {}={}", kTokenOfRanks,
                          "$(openssl rand -hex 16)"));
  auto serving = std::make_unique<Serving>(std::move(folder), std::move(token));
  serving->listener = HONE_TRY(listen_at(0, loopback));
  serving->wake = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  serving->thread = std::thread([s = serving.get()] { s->run(); });
  return std::unique_ptr<PeerServer>(new PeerServer(std::move(serving)));
}

PeerServer::PeerServer(std::unique_ptr<Serving> serving) : serving_(std::move(serving)) {}

PeerServer::~PeerServer() {
  serving_->stop = true;
  (void)::eventfd_write(serving_->wake.get(), 1);
  serving_->thread.join();
}

int PeerServer::port() const { return serving_->listener.port; }

}  // namespace hone
