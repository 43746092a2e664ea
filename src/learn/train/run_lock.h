// A lock on an output folder, so that one process at a time trains into it.
#pragma once

#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/store/store.h"

namespace hone {

// Holds the lock until destruction or the end of the process.
//   on a disk     the lock is flock() on the folder itself, without a file. A file system without locks has no lock.
//   in a bucket   the lock is the object .hone_lock, which names its process. The process rewrites the object every 20
//                 seconds. Another run replaces the lock at once if the process was on the same machine and has ended,
//                 otherwise after 75 seconds without a write. Only the clock of the waiting machine is used.
class RunLock {
 public:
  // Takes the lock. Creates the folder if it is missing, and removes unfinished files of a killed process. `beat_s`:
  // the lock in a bucket is rewritten every this number of seconds; only tests change it. Errors: H2403 another
  // process has the lock, or took it first (H0118).
  static Result<RunLock> take(const std::string& folder, Clock& clock = system_clock(),
                              double beat_s = 20);
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  // Checks that this process still has the lock. After an Error, do not write into the folder. H2403: another process
  // replaced the lock in a bucket, because this process did not rewrite it for too long (a stopped machine, a lost
  // network connection); or the lock was removed. H2429: the folder on a disk was deleted, renamed or replaced. Does
  // not allocate if the result is Ok.
  Status check() const;

 private:
  struct InBucket;
  RunLock(std::string folder, int fd, std::unique_ptr<InBucket> in_bucket);
  std::string folder_;
  int fd_;
  std::unique_ptr<InBucket> in_bucket_;
};

// The process that a lock in a bucket names. Declared here for tests.
struct LockOwner {
  // host: name of the machine. boot: id of its last boot. space: its PID namespace. start: the time when the process
  // started, in clock ticks since boot.
  std::string host, boot, space, start;
  int64_t pid = 0;
  std::string name;         // random, different for each lock
  static LockOwner self();  // this process
  // True if the process was on this machine and no longer exists. False if that is unknown.
  bool is_gone() const;
};

}  // namespace hone
