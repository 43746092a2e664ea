// Numbered items of work that processes of several hosts share through a folder or a bucket.
//
//   WorkItems items("gs://b/out/work", 12);
//   while (auto item = HONE_TRY(items.take())) HONE_TRY(items.commit(work_on(*item)));
//
//   W/000003.lease-001   written under the condition that nobody wrote it: names its process, which
//                        writes it again while it works
//   W/000003.done        the result, written under the same condition
//
// A lease is stale when its process was on this host and has ended, or when nobody wrote it for
// `stale_s` seconds of this process' own clock; another process then takes the item with the next
// number of a lease. A process that was only paused may finish its item all the same, so work on an item
// must give the same result each time.
#pragma once

#include <condition_variable>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>

#include "base/core/clock.h"
#include "base/core/error.h"

namespace hone {

class WorkItems {
 public:
  // The folder exists.
  WorkItems(std::string folder, int64_t count, double stale_s = 60, Clock& clock = system_clock());
  ~WorkItems();  // gives the item back
  WorkItems(const WorkItems&) = delete;

  // Takes an item that is neither done nor held; none: there is none now, see done(). Errors: those of
  // the store.
  Result<std::optional<int64_t>> take();
  // Ends the work on the taken item. A result that another process wrote first stays.
  Status commit(std::string_view result);
  void give_back();  // so that another process need not wait for the lease to become stale

  int64_t count() const { return count_; }
  int64_t done() const { return done_; }  // at the last take()
  bool all_done() const { return done_ == count_; }
  Result<std::string> result(int64_t item) const;

 private:
  struct Seen {
    std::string text;
    double since = 0;
  };
  std::string lease_file(int64_t item, int64_t number) const;
  std::string done_file(int64_t item) const;
  bool is_stale(int64_t item, int64_t number);
  Result<bool> lease(int64_t item, int64_t number);
  void beat();
  void stop_beating();

  std::string folder_;
  int64_t count_, done_ = 0, first_;
  double stale_s_;
  Clock& clock_;
  std::string owner_;
  std::map<int64_t, Seen> seen_;  // leases of others, by item
  std::string held_file_;         // "": no item is held
  int64_t held_ = -1;
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread beats_;
};

}  // namespace hone
