// Messages between the ranks of a run. A Group is one rank's end; the ranks of a group call the
// same exchanges in the same order.
//
//   std::vector<Send> sends = {{.to = 1, .bytes = mine}};
//   std::vector<Receive> receives = {{.from = 1, .bytes = theirs}};
//   HONE_TRY(group.exchange(sends, receives));
//
// Collectives are functions over exchange() (collectives.h), so their bits do not depend on the
// engine. One thread at a time calls exchange(); any thread may call the other functions.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "engine/comm/message.h"

namespace hone {

// Hears of the collectives of one rank. All ranks have the same ones in the same order.
class CollectiveWatch {
 public:
  virtual ~CollectiveWatch() = default;
  // This rank begins to wait for the others at `node`: "all_reduce gradients.wte.weight".
  virtual void reach(const std::string& node) = 0;
  virtual void pass() = 0;
};

class Group {
 public:
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const std::string& name() const { return name_; }  // of the engine: "gloo"

  // Sends and receives these messages, and returns when all have arrived and every span may be used
  // again. The messages from one rank to another arrive in their order, each as long as the span
  // that receives it; empty ones are skipped; a message to this rank itself is a copy. The spans of
  // one call do not overlap, except in a message that is sent from where it is received. Errors,
  // after which every later call fails too: H1502 a rank is gone, H1503 stop() was called.
  Status exchange(std::span<const Send> sends, std::span<const Receive> receives);

  // Ends a running exchange() and every later one with H1503, whose text names `why`.
  void stop(const std::string& why);
  // The error that later exchanges fail with. Any thread.
  Status state() const;

  // Makes another group of the same ranks, whose messages have an order of their own. Every rank calls it, with a
  // name that it uses once. Errors: H1501 the engine cannot, and those of make_group().
  virtual Result<std::unique_ptr<Group>> another(const std::string& name) const;

  // Hears of collectives from now on, and outlives them; null: nobody. Set before the first one.
  void set_watch(CollectiveWatch* watch) { watch_ = watch; }
  CollectiveWatch* watch() const { return watch_; }

  // Bytes of messages to and from other ranks, since the group was made.
  int64_t bytes_sent() const { return total(sent_.get()); }
  int64_t bytes_received() const { return total(received_.get()); }
  int64_t bytes_sent(int peer) const { return sent_[static_cast<size_t>(peer)]; }
  int64_t bytes_received(int peer) const { return received_[static_cast<size_t>(peer)]; }

 protected:
  Group(std::string name, int rank, int ranks);

  // Does exchange() for messages that are not empty, to and from other ranks.
  virtual Status transfer(std::span<const Send> sends, std::span<const Receive> receives) = 0;
  // Makes a running transfer() and later ones return an error of any kind soon. Any thread.
  virtual void wake() = 0;

 private:
  using Counts = std::unique_ptr<std::atomic<int64_t>[]>;
  int64_t total(const std::atomic<int64_t>* counts) const;

  std::string name_;
  int rank_, ranks_;
  Counts sent_, received_;   // by peer
  std::vector<Send> sends_;  // of the running exchange
  std::vector<Receive> receives_;
  CollectiveWatch* watch_ = nullptr;
  mutable std::mutex mutex_;
  std::optional<Error> closed_;  // the reason why no exchange runs any longer
};

}  // namespace hone
