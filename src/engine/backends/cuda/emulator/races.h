// Finds accesses of the same bytes that nothing orders, by vector clocks over ranges of bytes
// (Mattern 1988; reads and writes as in FastTrack, Flanagan and Freund 2009).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/device/accesses.h"

namespace hone::cuda::fake {

// The number of actions of each actor that have happened before. Actor 0 is the host, actor n stream n.
class Clock {
 public:
  int64_t of(size_t actor) const { return actor < counts_.size() ? counts_[actor] : 0; }
  void step(size_t actor);
  void join(const Clock& other);

 private:
  std::vector<int64_t> counts_;
};

// Something that accesses memory, in the words of a finding.
struct Doer {
  size_t actor = 0;
  std::string text;  // "call 12 (kernel 'square' on stream 1)"
};

// An access that came earlier, and that nothing orders with a later one.
struct Conflict {
  std::shared_ptr<const Doer> earlier;
  bool earlier_writes = false;
  uintptr_t begin = 0, end = 0;  // the bytes of both
};

class Races {
 public:
  // `clock`: of the access, with the action that it belongs to. At least one of two that conflict
  // writes.
  std::vector<Conflict> access(const Access& access, const std::shared_ptr<const Doer>& doer,
                               const Clock& clock);
  // Bytes that are freed.
  void forget(const void* at, int64_t bytes);

 private:
  struct Mark {
    std::shared_ptr<const Doer> doer;
    int64_t count = 0;
    bool before(const Clock& clock) const { return !doer || clock.of(doer->actor) >= count; }
  };
  // Bytes with the same history: the last write, and the last read of each actor since.
  struct Segment {
    uintptr_t end = 0;
    Mark write;
    std::vector<Mark> reads;
  };
  void split(uintptr_t at);

  std::map<uintptr_t, Segment> segments_;  // by their first byte
};

}  // namespace hone::cuda::fake
