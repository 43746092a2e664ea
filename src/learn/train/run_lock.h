// One process at a time trains into an output folder.
#pragma once

#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/store/store.h"

namespace hone {

// Holds the folder until destruction or the end of the process. On a disk: flock on the folder
// itself, without a file; on a file system without locks it holds nothing. In a bucket: the object
// .hone_lock, which names the process and is rewritten every 20 seconds. If that process of this
// machine has ended, another run replaces the lock at once; otherwise after 75 seconds without a
// write. Only this machine's clock counts.
class RunLock {
 public:
  // Creates the folder if it is missing, and removes unfinished files of a killed process. Errors:
  // H2403 another process holds it (also if its write, H0118, came first).
  // The lock in a bucket is rewritten every `beat_s` seconds; only tests give another number.
  static Result<RunLock> take(const std::string& folder, Clock& clock = system_clock(),
                              double beat_s = 20);
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  // Write nothing more into the folder after an Error. H2403: another process replaced the lock in a
  // bucket, because this one did not write it for too long (a stopped machine, a cut network); or
  // the lock was removed. H2429: the folder on a disk was deleted, renamed or replaced. Does not
  // allocate if it is Ok.
  Status check() const;

 private:
  struct InBucket;
  RunLock(std::string folder, int fd, std::unique_ptr<InBucket> in_bucket);
  std::string folder_;
  int fd_;
  std::unique_ptr<InBucket> in_bucket_;
};

// The process in a lock; exposed for tests.
struct LockOwner {
  std::string host, boot, space, start;  // start: in clock ticks since boot
  int64_t pid = 0;
  std::string name;  // unique to this lock
  static LockOwner self();
  // True only if the process was on this machine and no longer exists.
  bool is_gone() const;
};

}  // namespace hone
