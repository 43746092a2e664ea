// Finds data races: two accesses to the same bytes, at least one of them a write, that no wait orders. Each range of
// bytes has vector clocks (Mattern 1988); reads and writes are compared as in FastTrack (Flanagan and Freund 2009).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/accesses.h"

namespace hone::cuda::fake {

// A vector clock: for each actor, the number of its actions that have happened. Actor 0 is the host, actor n stream n.
class Clock {
 public:
  int64_t of(size_t actor) const { return actor < counts_.size() ? counts_[actor] : 0; }
  void step(size_t actor);        // counts one more action of the actor
  void join(const Clock& other);  // takes the larger count of each actor

 private:
  std::vector<int64_t> counts_;
};

// The call that accesses memory, for the text of a finding.
struct Doer {
  size_t actor = 0;
  std::string text;  // "call 12 (kernel 'square' on stream 1)"
};

// An earlier access that races with the present one.
struct Conflict {
  std::shared_ptr<const Doer> earlier;
  bool earlier_writes = false;   // whether the earlier access writes
  uintptr_t begin = 0, end = 0;  // the bytes that both access, [begin, end)
};

class Races {
 public:
  // Records an access and returns the earlier accesses that race with it. clock: the actions that happen before the
  // access, including the action that makes the access.
  std::vector<Conflict> access(const Access& access, const std::shared_ptr<const Doer>& doer,
                               const Clock& clock);
  // Forgets all accesses to bytes that are freed.
  void forget(const void* at, int64_t bytes);

 private:
  // An access: action number `count` of the doer's actor. doer null: there was no access.
  struct Mark {
    std::shared_ptr<const Doer> doer;
    int64_t count = 0;
    bool before(const Clock& clock) const { return !doer || clock.of(doer->actor) >= count; }
  };
  // A range of bytes with the same history.
  struct Segment {
    uintptr_t end = 0;
    Mark write;               // the last write
    std::vector<Mark> reads;  // the last read of each actor since that write
  };
  void split(uintptr_t at);

  std::map<uintptr_t, Segment> segments_;  // by their first byte
};

}  // namespace hone::cuda::fake
