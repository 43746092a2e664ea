// Messages between the ranks (processes) of a run. A Group object is one rank's end of the group. All ranks must call
// matching exchanges in the same order.
//
//   std::vector<Send> sends = {{.to = 1, .bytes = mine}};
//   std::vector<Receive> receives = {{.from = 1, .bytes = theirs}};
//   HONE_TRY(group.exchange(sends, receives));
//
// Collectives are built on exchange() (collectives.h), so the bits of their results do not depend on the engine, the
// library that carries the messages. Only one thread at a time may call exchange(); any thread may call the other
// functions.
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

// Receives the start and the end of each collective of one rank. All ranks have the same collectives in the same order.
class CollectiveWatch {
 public:
  virtual ~CollectiveWatch() = default;
  // Called when this rank starts a collective, and so starts to wait for other ranks. `node`: the collective's op and
  // scope, such as "all_reduce gradients.wte.weight".
  virtual void reach(const std::string& node) = 0;
  // Called when the collective has ended.
  virtual void pass() = 0;
};

class Group {
 public:
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  int rank() const { return rank_; }
  int ranks() const { return ranks_; }
  const std::string& name() const { return name_; }  // the engine's name, such as "gloo"

  // Sends and receives these messages. Returns when all have arrived and each span may be used again. Messages from one
  // rank to another are matched in order; a message must have the length of the span that receives it. Empty spans are
  // skipped. A message to this rank itself is a copy. Spans of one call must not overlap, but a message to this rank
  // may be sent from the span that receives it. H1502: a rank is gone. H1503: stop() was called. H1504: two ranks
  // disagree about the length of a message (only some engines find this). After an error all later calls return the
  // same error.
  Status exchange(std::span<const Send> sends, std::span<const Receive> receives);

  // Makes a running exchange() and all later ones return H1503, whose text has `why`. It has no effect after
  // another error.
  void stop(const std::string& why);
  // The error that later calls of exchange() will return, or Ok.
  Status state() const;

  // Makes a second group of the same ranks, whose messages are ordered independently. Every rank calls it with the same
  // name, which must not be used twice. H1501: the engine has only one group. Also the errors of make_group()
  // (engines/engines.h).
  virtual Result<std::unique_ptr<Group>> another(const std::string& name) const;

  // Sets the object that is called for each collective; it must exist until the last collective has ended. Null: none.
  // Call set_watch() before the first collective.
  void set_watch(CollectiveWatch* watch) { watch_ = watch; }
  CollectiveWatch* watch() const { return watch_; }

  // Bytes of messages to and from other ranks (or one other rank) since the group was made.
  int64_t bytes_sent() const { return total(sent_.get()); }
  int64_t bytes_received() const { return total(received_.get()); }
  int64_t bytes_sent(int peer) const { return sent_[static_cast<size_t>(peer)]; }
  int64_t bytes_received(int peer) const { return received_[static_cast<size_t>(peer)]; }

 protected:
  Group(std::string name, int rank, int ranks);

  // The engine's part of exchange(): no message is empty, and all are to and from other ranks.
  virtual Status transfer(std::span<const Send> sends, std::span<const Receive> receives) = 0;
  // Makes a running transfer() and later ones return an error of any code soon. May be called from any thread.
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
  std::optional<Error> closed_;  // the error of all later exchanges
};

}  // namespace hone
