#include "base/ranks/control_server.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>

#include <algorithm>
#include <mutex>
#include <thread>

#include "base/ranks/connection.h"
#include "base/ranks/errors.h"
#include "base/ranks/world.h"

namespace hone {
namespace {

constexpr double kTickSeconds = 0.25;
constexpr double kStrangerSeconds = 10;  // in which a connection must join
constexpr size_t kMostStrangers = 1024;
constexpr size_t kMostUnsentBytes = size_t{512} << 20;

}  // namespace

struct ControlServer::Serving {
  struct Peer {
    FrameConnection connection;
    double since = 0;
    bool ends = false;  // when all is written
  };
  explicit Serving(ServeOptions o) : options(std::move(o)), state(options.state) {}

  void run();
  void accept_peers();
  void take_input(int64_t id, Peer& peer);
  void queue(std::vector<ControlState::Out> all);
  void drop_strangers(double now);
  void close(int64_t id);
  // Gives answers that were made outside of run() to its thread.
  void send(std::vector<ControlState::Out> all) {
    queue(std::move(all));
    wake_up();
  }
  void wake_up() const { (void)::eventfd_write(wake.get(), 1); }
  double now() const { return options.clock->seconds(); }

  ServeOptions options;
  Listener listener;
  FileDescriptor wake;
  mutable std::mutex mutex;  // of all below
  ControlState state;
  std::map<int64_t, Peer> peers;
  int64_t next_id = 1;
  bool stop = false;
  std::thread thread;
};

void ControlServer::Serving::queue(std::vector<ControlState::Out> all) {
  for (ControlState::Out& out : all) {
    const auto it = peers.find(out.connection);
    if (it == peers.end() || it->second.ends) continue;
    it->second.connection.queue(out.frame);
    it->second.ends = out.last;
  }
}

void ControlServer::Serving::close(int64_t id) {
  peers.erase(id);
  queue(state.closed(id, now()));
}

void ControlServer::Serving::accept_peers() {
  while (FileDescriptor fd = listener.accept(now()))
    peers.emplace(next_id++, Peer{FrameConnection(std::move(fd), kStrangerLimits), now()});
}

void ControlServer::Serving::take_input(int64_t id, Peer& peer) {
  bool open = peer.connection.read();
  while (!peer.ends) {
    const Result<std::optional<Frame>> frame = peer.connection.next();
    if (!frame.ok()) open = false;
    if (!frame.ok() || !*frame) break;
    queue(state.receive(id, **frame, now()));
    if (state.has_joined(id)) peer.connection.set_limits(kRankLimits);
  }
  if (!open) close(id);
}

void ControlServer::Serving::drop_strangers(double now) {
  std::vector<int64_t> strangers;  // oldest first
  for (const auto& [id, peer] : peers)
    if (!state.has_joined(id) && !state.waits_for_place(id) && !state.keeps_place(id))
      strangers.push_back(id);
  const size_t surplus = strangers.size() > kMostStrangers ? strangers.size() - kMostStrangers : 0;
  for (size_t i = 0; i < strangers.size(); ++i)
    if (i < surplus || now - peers.at(strangers[i]).since > kStrangerSeconds) close(strangers[i]);
}

void ControlServer::Serving::run() {
  std::vector<pollfd> polled;
  std::vector<int64_t> ids;
  for (;;) {
    {
      const std::lock_guard lock(mutex);
      if (stop) return;
      polled = {{listener.socket.get(), listener.events(now()), 0}, {wake.get(), POLLIN, 0}};
      ids.clear();
      for (const auto& [id, peer] : peers) {
        const bool unsent = peer.connection.unsent_bytes() > 0;
        polled.push_back(
            {peer.connection.fd(), static_cast<short>(unsent ? POLLIN | POLLOUT : POLLIN), 0});
        ids.push_back(id);
      }
    }
    (void)::poll(polled.data(), polled.size(), static_cast<int>(kTickSeconds * 1000));
    std::vector<std::string> lines;
    {
      const std::lock_guard lock(mutex);
      eventfd_t taken = 0;
      (void)::eventfd_read(wake.get(), &taken);
      if (polled[0].revents != 0) accept_peers();
      for (size_t i = 0; i < ids.size(); ++i)
        if (const auto it = peers.find(ids[i]);
            it != peers.end() && (polled[i + 2].revents & ~POLLOUT))
          take_input(it->first, it->second);
      queue(state.tick(now()));
      std::vector<int64_t> ended;
      for (auto& [id, peer] : peers)
        if (!peer.connection.write() || peer.connection.unsent_bytes() > kMostUnsentBytes ||
            (peer.ends && peer.connection.unsent_bytes() == 0))
          ended.push_back(id);
      for (const int64_t id : ended) close(id);
      drop_strangers(now());
      lines = state.due_reports(now());
    }
    if (options.say)
      for (const std::string& line : lines) options.say(line);
  }
}

Result<std::unique_ptr<ControlServer>> ControlServer::open(ServeOptions options) {
  if (!options.loopback && options.state.token.empty())
    return Error(err::kRankRefused, "the control plane of several hosts needs a token")
        .todo(fmt::format("set it for all ranks: export {}={}", kTokenOfRanks,
                          "$(openssl rand -hex 16)"));
  auto serving = std::make_unique<Serving>(std::move(options));
  serving->listener = HONE_TRY(listen_at(serving->options.port, serving->options.loopback));
  serving->wake = FileDescriptor(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  serving->thread = std::thread([s = serving.get()] { s->run(); });
  return std::unique_ptr<ControlServer>(new ControlServer(std::move(serving)));
}

ControlServer::ControlServer(std::unique_ptr<Serving> serving) : serving_(std::move(serving)) {}

ControlServer::~ControlServer() {
  {
    const std::lock_guard lock(serving_->mutex);
    serving_->stop = true;
  }
  serving_->wake_up();
  serving_->thread.join();
}

int ControlServer::port() const { return serving_->listener.port; }

void ControlServer::begin_epoch(int ranks) {
  const std::lock_guard lock(serving_->mutex);
  serving_->send(serving_->state.begin_epoch(ranks));
}

int64_t ControlServer::epoch() const {
  const std::lock_guard lock(serving_->mutex);
  return serving_->state.epoch();
}

void ControlServer::stop(int signal) {
  const std::lock_guard lock(serving_->mutex);
  serving_->send(serving_->state.stop(signal));
}

void ControlServer::fail(RankFailure failure) {
  const std::lock_guard lock(serving_->mutex);
  serving_->send(serving_->state.fail(std::move(failure), serving_->now()));
}

std::optional<RankFailure> ControlServer::first_failure() const {
  const std::lock_guard lock(serving_->mutex);
  return serving_->state.members().first_failure();
}

RankProgress ControlServer::progress(int rank) const {
  const std::lock_guard lock(serving_->mutex);
  return serving_->state.members().progress(rank, serving_->now());
}

bool ControlServer::is_silent(int rank) const {
  const std::lock_guard lock(serving_->mutex);
  return serving_->state.members().is_silent(rank, serving_->now());
}

bool ControlServer::wait_for_ranks(double patience_s) const {
  for (const double end = serving_->now() + patience_s;;) {
    {
      const std::lock_guard lock(serving_->mutex);
      if (serving_->state.members().have_all_ended()) return true;
      if (serving_->now() >= end) return false;
    }
    serving_->options.clock->sleep(0.01);
  }
}

std::vector<WaitingMachine> ControlServer::waiting_machines() const {
  const std::lock_guard lock(serving_->mutex);
  return serving_->state.machines();
}

void ControlServer::place_machines(const std::vector<MachinePlace>& places) {
  const std::lock_guard lock(serving_->mutex);
  serving_->send(serving_->state.place_machines(places));
}

void ControlServer::end_machines(int status) {
  const std::lock_guard lock(serving_->mutex);
  serving_->send(serving_->state.end_machines(status));
}

std::vector<MissingRank> ControlServer::missing_at(int64_t collective) const {
  const std::lock_guard lock(serving_->mutex);
  return serving_->state.members().missing_at(collective, serving_->now());
}

}  // namespace hone
