#include "engine/comm/engines/link_greeting.h"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

#include "base/core/secret.h"
#include "base/ranks/world.h"

namespace hone {
namespace {

// Wakes the link if it still lives after that time.
class LinkAlarm {
 public:
  LinkAlarm(Link& link, double patience_s) {
    thread_ = std::thread([this, &link, patience_s] {
      std::unique_lock lock(mutex_);
      const auto patience = std::chrono::duration<double>(std::min(patience_s, 1e6));
      if (!changed_.wait_for(lock, patience, [this] { return is_over_; })) link.wake();
    });
  }
  ~LinkAlarm() {
    {
      const std::lock_guard lock(mutex_);
      is_over_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace

bool greet_peers(Link& link, int rank, int ranks, LinkKeys& keys, double patience_s,
                 std::string& error) {
  const auto key = [](int r) { return "word/" + std::to_string(r); };
  const std::string mine = new_ranks_token();
  if (!keys.set(key(rank), mine, error)) return false;
  std::vector<std::string> theirs(static_cast<size_t>(ranks)), heard(theirs);
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int peer = 0; peer < ranks; ++peer) {
    if (peer == rank) continue;
    std::string& word = theirs[static_cast<size_t>(peer)];
    if (!keys.get(key(peer), word, error)) return false;
    std::string& answer = heard[static_cast<size_t>(peer)];
    answer.resize(mine.size());
    sends.push_back({peer, std::as_bytes(std::span(word))});
    receives.push_back({peer, std::as_writable_bytes(std::span(answer))});
  }
  Link::Fault fault;
  bool done = false;
  {
    const LinkAlarm alarm(link, patience_s);
    done = link.transfer(sends, receives, fault);
  }
  if (!done) {
    error = "rank " + std::to_string(fault.peer) +
            " has not shown that it belongs to the run: " + fault.why;
    return false;
  }
  for (const Receive& r : receives)
    if (!equal_secrets(heard[static_cast<size_t>(r.from)], mine)) {
      error = "the connection of rank " + std::to_string(r.from) + " belongs to a stranger";
      return false;
    }
  return true;
}

}  // namespace hone
