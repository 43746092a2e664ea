// The fake driver's streams and events, and the order in which their work runs.
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

// An entry of a stream: work; a wait for an entry of another stream; or neither, the record of an event.
struct Op {
  Stream* stream = nullptr;
  std::shared_ptr<const Doer> doer;  // names the call in findings
  std::function<void()> work = {};   // empty: there is nothing to do
  bool uses_device = false;          // whether the work accesses device memory
  std::shared_ptr<Op> after = {};    // the entry to wait for; null: none
  bool done = false;
};

struct Stream {
  size_t actor = 0;  // its number in clocks
  bool destroyed = false;
  Capture* capture = nullptr;  // the capture that records the stream's work; null: the work runs
  Clock clock;                 // the actions that happen before the stream's next entry
  std::deque<std::shared_ptr<Op>> queue;  // the entries that have not run
  std::shared_ptr<Op> last;               // the newest entry, run or not; null: there was none
  std::string text() const;               // "stream 1"
};

struct Event {
  int64_t number = 0;
  bool destroyed = false;
  std::shared_ptr<Op> mark;  // entry of the last record; null: the event was never recorded
  Clock clock;               // the actions that happen before the last record
  // The capture in which the last record was made, and the number of its mark there; null: it was not captured.
  const Capture* capture = nullptr;
  size_t captured_mark = 0;
  std::string text() const { return "event " + std::to_string(number); }
};

// Objects whose addresses are the handles that callers use. Destroying an object only marks it, so the use of an old
// handle can be recognized.
template <class T>
class Handles {
 public:
  T& add() {
    T& one = *all_.emplace_back(std::make_unique<T>());
    known_.insert(&one);
    return one;
  }
  // The object, destroyed or not; null: there was never one with this handle.
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
  // run: called to do the work of an entry.
  Queues(Execution execution, uint64_t seed, std::function<void(Op&)> run);

  Stream& add_stream();
  Stream* find(const void* handle) { return streams_.find(handle); }
  Stream& null_stream();                                // made at its first use
  const Stream* null_if_used() const { return null_; }  // null: it was not used
  const Handles<Stream>& streams() const { return streams_; }

  // Puts an entry into its stream, and runs entries as the Execution demands.
  void add(const std::shared_ptr<Op>& op);
  void run_until(const std::shared_ptr<Op>& op);  // runs entries until `op` is done; null: none
  void run_all();                                 // runs all entries

 private:
  bool is_ready(const Stream& s) const;  // whether the first entry can run now
  void run_first(Stream& s);
  bool run_any();  // runs a random entry that can run; false: there is none

  const Execution execution_;
  std::mt19937_64 random_;
  std::function<void(Op&)> run_;
  Handles<Stream> streams_;
  Stream* null_ = nullptr;
};

}  // namespace hone::cuda::fake
