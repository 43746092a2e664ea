// libhone_gloo.so: the interface of ../link_module.h over Gloo's TCP transport. Messages are read
// from and written to the caller's memory; Gloo's own collectives are not used.
#include <gloo/transport/tcp/device.h>
#include <gloo/transport/unbound_buffer.h>
#include <sched.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <mutex>
#include <vector>

#include "engine/comm/engines/link_module.h"

namespace hone {
namespace {

using Milliseconds = std::chrono::milliseconds;
using Buffer = std::unique_ptr<gloo::transport::UnboundBuffer>;

constexpr double kMostWaitS = 3600.0 * 24 * 30;  // Gloo adds it to the time of day, in nanoseconds
constexpr int kConnectFactor = 5;                // timeouts that Gloo waits for a connection

Milliseconds wait_of(double seconds) {
  return Milliseconds(static_cast<int64_t>(1000 * std::min(seconds, kMostWaitS)));
}

// "[.../transport/tcp/pair.cc:598] Connection closed by peer [10.0.0.7]:4182" without its place.
std::string reason_of(const std::exception& e) {
  const std::string text = e.what();
  const size_t end = text.find("] ");
  return text.starts_with('[') && end != std::string::npos ? text.substr(end + 2) : text;
}

// Threads that are made while it lives do not take the processor from a running thread (SCHED_BATCH).
// Gloo's thread needs this: it skips a pair whose lock is taken and asks epoll again at once. If it
// takes the processor from the thread with the lock, it spins for a whole slice.
class BatchThreads {
 public:
  BatchThreads() : is_set_(sched_getscheduler(0) == SCHED_OTHER && set(SCHED_BATCH)) {}
  ~BatchThreads() {
    if (is_set_) set(SCHED_OTHER);
  }
  BatchThreads(const BatchThreads&) = delete;
  BatchThreads& operator=(const BatchThreads&) = delete;

 private:
  static bool set(int policy) {
    const sched_param none{};
    return sched_setscheduler(0, policy, &none) == 0;
  }
  bool is_set_;
};

std::shared_ptr<gloo::transport::Device> make_device(const std::string& address) {
  const BatchThreads batch;
  gloo::transport::tcp::attr attr(address.c_str());
  return gloo::transport::tcp::CreateDevice(attr);
}

class GlooLink : public Link {
 public:
  explicit GlooLink(const LinkRequest& r)
      : rank_(r.rank),
        ranks_(r.ranks),
        patience_(wait_of(r.exchange_s)),
        sent_(static_cast<size_t>(r.ranks)),
        received_(sent_) {}

  // Connects a socket to each other rank.
  bool connect(const LinkRequest& r, LinkKeys& keys, std::string& error) {
    const auto device = make_device(r.address);
    context_ = device->createContext(rank_, ranks_);
    context_->setTimeout(wait_of(r.connect_s / kConnectFactor));
    // One address for each other rank, of equal length; nothing for this rank.
    std::string addresses;
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer == rank_) continue;
      const std::vector<char> bytes = context_->createPair(peer)->address().bytes();
      addresses.append(bytes.begin(), bytes.end());
    }
    if (!keys.set(std::to_string(rank_), addresses, error)) return false;
    for (int peer = 0; peer < ranks_; ++peer) {
      if (peer == rank_) continue;
      std::string theirs;
      if (!keys.get(std::to_string(peer), theirs, error)) return false;
      const size_t size = addresses.size() / static_cast<size_t>(ranks_ - 1);
      if (theirs.size() != addresses.size()) {
        error = "rank " + std::to_string(peer) + " has another version of Gloo";
        return false;
      }
      const auto at = static_cast<size_t>(rank_ < peer ? rank_ : rank_ - 1) * size;
      try {
        context_->getPair(peer)->connect({theirs.begin() + static_cast<int64_t>(at),
                                          theirs.begin() + static_cast<int64_t>(at + size)});
      } catch (const std::exception& e) {
        error = "rank " + std::to_string(peer) + ": " + reason_of(e);
        return false;
      }
    }
    return true;
  }

  bool transfer(std::span<const Send> sends, std::span<const Receive> receives,
                Fault& fault) override {
    std::vector<Buffer> outgoing, incoming;
    if (!open(sends, receives, outgoing, incoming)) {
      fault = {rank_, "communication has ended"};
      return false;
    }
    const bool done = run(sends, receives, outgoing, incoming, fault);
    {
      std::lock_guard lock(mutex_);
      active_.clear();
      if (!done) is_over_ = true;
    }
    if (!done) close_all();
    return done;
  }

  void wake() override {
    std::lock_guard lock(mutex_);
    is_over_ = true;
    for (gloo::transport::UnboundBuffer* b : active_) {
      b->abortWaitRecv();
      b->abortWaitSend();
    }
  }

 private:
  // Makes a buffer for each message; wake() reaches them from then on.
  bool open(std::span<const Send> sends, std::span<const Receive> receives,
            std::vector<Buffer>& outgoing, std::vector<Buffer>& incoming) {
    std::lock_guard lock(mutex_);
    if (is_over_) return false;
    for (const Receive& r : receives) {
      incoming.push_back(context_->createUnboundBuffer(r.bytes.data(), r.bytes.size()));
      active_.push_back(incoming.back().get());
    }
    for (const Send& s : sends) {
      // Gloo does not write to a buffer that is sent.
      outgoing.push_back(
          context_->createUnboundBuffer(const_cast<std::byte*>(s.bytes.data()), s.bytes.size()));
      active_.push_back(outgoing.back().get());
    }
    return true;
  }

  bool run(std::span<const Send> sends, std::span<const Receive> receives,
           const std::vector<Buffer>& outgoing, const std::vector<Buffer>& incoming, Fault& fault) {
    try {
      for (size_t i = 0; i < receives.size(); ++i) {
        fault.peer = receives[i].from;
        incoming[i]->recv(fault.peer, slot(received_, fault.peer, receives[i].bytes.size()));
      }
      for (size_t i = 0; i < sends.size(); ++i) {
        fault.peer = sends[i].to;
        outgoing[i]->send(fault.peer, slot(sent_, fault.peer, sends[i].bytes.size()));
      }
      fault.why = "communication has ended";
      for (size_t i = 0; i < receives.size(); ++i) {
        fault.peer = receives[i].from;
        if (!incoming[i]->waitRecv(patience_)) return false;
      }
      for (size_t i = 0; i < sends.size(); ++i) {
        fault.peer = sends[i].to;
        if (!outgoing[i]->waitSend(patience_)) return false;
      }
    } catch (const std::exception& e) {
      fault.why = reason_of(e);
      return false;
    }
    return true;
  }

  // The name that both ends give a message. Gloo ends the process if a message is longer than its
  // receiver expects, and takes a shorter one; with its length in the name, the two ends of a
  // message of different lengths never meet.
  static uint64_t slot(std::vector<uint64_t>& counts, int peer, size_t bytes) {
    constexpr int kLengthBits = 40;
    return counts[static_cast<size_t>(peer)]++ << kLengthBits |
           (bytes & ((uint64_t{1} << kLengthBits) - 1));
  }

  // The other ranks see the end of their connections.
  void close_all() {
    for (int peer = 0; peer < ranks_; ++peer)
      if (peer != rank_) context_->getPair(peer)->close();
  }

  int rank_, ranks_;
  Milliseconds patience_;
  std::vector<uint64_t> sent_, received_;  // messages, by peer
  std::shared_ptr<gloo::transport::Context> context_;
  std::mutex mutex_;                                     // of what follows
  std::vector<gloo::transport::UnboundBuffer*> active_;  // of the running transfer
  bool is_over_ = false;
};

}  // namespace
}  // namespace hone

extern "C" __attribute__((visibility("default"))) hone::Link* hone_gloo_link(
    int version, const hone::LinkRequest& request, hone::LinkKeys& keys, std::string& error) {
  if (version != hone::kLinkModuleVersion) {
    error = "libhone_gloo.so belongs to another version of hone";
    return nullptr;
  }
  // A write to a rank that is gone is an error of the write, not the end of this process.
  std::signal(SIGPIPE, SIG_IGN);
  try {
    auto link = std::make_unique<hone::GlooLink>(request);
    return link->connect(request, keys, error) ? link.release() : nullptr;
  } catch (const std::exception& e) {
    error = hone::reason_of(e);
    return nullptr;
  }
}
