// Divides numbered items of work among processes, also on several hosts, through a folder or an object store.
//
//   WorkItems items("gs://b/out/work", 12);
//   while (auto item = HONE_TRY(items.take())) HONE_TRY(items.commit(work_on(*item)));
//
// Files for item 3 in the folder. If several processes create the same file, only one succeeds:
//   000003.lease-001   names the process that works on the item; the process writes it again while it works
//   000003.done        the result
//
// A lease is stale if its process was on this host and has ended, or if the file did not change for `stale_s` seconds
// by the clock of the process that looks at it. Another process may then take the item, with the next lease number. A
// process that was only paused may still finish its item, so work on an item must give the same result each time.
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
  // Shares the items 0 .. count - 1 through `folder`, which must exist on a disk.
  WorkItems(std::string folder, int64_t count, double stale_s = 60, Clock& clock = system_clock());
  ~WorkItems();  // calls give_back()
  WorkItems(const WorkItems&) = delete;

  // Takes an item that is not done and that no other process works on. Call commit() or give_back() before the next
  // take(). nullopt: there is no such item now; if all_done() is false, other processes still work on items. Errors:
  // those of file_store().
  Result<std::optional<int64_t>> take();
  // Stores the result of the taken item. If another process has stored a result first, its result stays; this is not
  // an Error. Errors: those of file_store().
  Status commit(std::string_view result);
  // Returns the taken item without a result, so that another process can take it at once. Does nothing without an item.
  void give_back();

  int64_t count() const { return count_; }
  int64_t done() const { return done_; }  // the number of items with a result, at the last take()
  bool all_done() const { return done_ == count_; }
  // The stored result of an item; Error H0101 if it is not done.
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
  std::map<int64_t, Seen> seen_;  // leases of other processes, by item
  std::string held_file_;         // the lease file of the taken item
  int64_t held_ = -1;             // the taken item; -1: none
  std::mutex mutex_;
  std::condition_variable wake_;
  bool ended_ = false;
  std::thread beats_;
};

}  // namespace hone
