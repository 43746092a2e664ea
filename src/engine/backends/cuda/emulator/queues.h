// Streams and events, and when the work in them is done.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <unordered_set>
#include <vector>

#include "engine/backends/cuda/emulator/options.h"
#include "engine/backends/cuda/emulator/races.h"

namespace hone::cuda::fake {

struct Stream;
struct Capture;

// An entry of a stream: work, a wait for an entry of another stream, or an event's mark.
struct Op {
  Stream* stream = nullptr;
  std::shared_ptr<const Doer> doer;
  std::function<void()> work = {};
  bool uses_device = false;  // its memory
  std::shared_ptr<Op> after = {};
  bool done = false;
};

struct Stream {
  size_t actor = 0;
  bool destroyed = false;
  Capture* capture = nullptr;  // that notes what the stream is given
  Clock clock;                 // what happens before the next entry
  std::deque<std::shared_ptr<Op>> queue;
  std::shared_ptr<Op> last;
  std::string text() const;  // "stream 1"
};

struct Event {
  int64_t number = 0;
  bool destroyed = false;
  std::shared_ptr<Op> mark;  // of the last record; null: it was never recorded
  Clock clock;               // at that record
  // The capture of the last record, if that was in one.
  const Capture* capture = nullptr;
  size_t captured_mark = 0;
  std::string text() const { return "event " + std::to_string(number); }
};

// Objects that callers know by their addresses. They outlive what destroys them, so that an old
// handle is known as one.
template <class T>
class Handles {
 public:
  T& add() {
    T& one = *all_.emplace_back(std::make_unique<T>());
    known_.insert(&one);
    return one;
  }
  T* find(const void* handle) const {
    auto* one = static_cast<T*>(const_cast<void*>(handle));
    return known_.contains(one) ? one : nullptr;
  }
  const std::vector<std::unique_ptr<T>>& all() const { return all_; }

 private:
  std::vector<std::unique_ptr<T>> all_;
  std::unordered_set<T*> known_;
};

class Queues {
 public:
  // `run` does an entry's work.
  Queues(Execution execution, uint64_t seed, std::function<void(Op&)> run);

  Stream& add_stream();
  Stream* find(const void* handle) { return streams_.find(handle); }
  Stream& null_stream();
  const Stream* null_if_used() const { return null_; }
  const Handles<Stream>& streams() const { return streams_; }

  // Puts an entry into its stream, and does what the execution does then.
  void add(const std::shared_ptr<Op>& op);
  void run_until(const std::shared_ptr<Op>& op);  // null: nothing
  void run_all();

 private:
  bool is_ready(const Stream& s) const;
  void run_first(Stream& s);
  bool run_any();  // false: nothing is left

  const Execution execution_;
  std::mt19937_64 random_;
  std::function<void(Op&)> run_;
  Handles<Stream> streams_;
  Stream* null_ = nullptr;
};

}  // namespace hone::cuda::fake
