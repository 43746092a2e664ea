// A lock on an output folder, so that only one process at a time trains into it.
#pragma once

#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/store/store.h"

namespace hone {

// Holds the lock until destruction or the end of the process.
//   folder on a disk     The lock is flock() on the folder itself, without a file. If the file system does not support
//                        locks, the folder is not locked.
//   folder in a bucket   The lock is the object .hone_lock, which names its process. The process rewrites the object
//                        every 20 seconds. Another process replaces the lock at once if the first process was on the
//                        same machine and has ended; otherwise it waits until it has seen no rewrite for 75 seconds by
//                        its own clock.
class RunLock {
 public:
  // Takes the lock. Creates the folder if it is missing, and removes unfinished files of a killed process. `beat_s`:
  // seconds between two rewrites of a lock in a bucket; only tests change it. Errors: H2403 another process has the
  // lock, or takes it at the same time and was first (H0118 of the store).
  static Result<RunLock> take(const std::string& folder, Clock& clock = system_clock(),
                              double beat_s = 20);
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  // Checks that this process still has the lock. After an Error, do not write into the folder. Does not allocate memory
  // if the result is Ok. Errors: H2403 the lock in a bucket was removed, or another process replaced it, because this
  // process did not rewrite it for too long (a stopped machine, a lost network connection); H2429 the folder on a disk
  // was deleted, renamed or replaced.
  Status check() const;

 private:
  struct InBucket;
  RunLock(std::string folder, int fd, std::unique_ptr<InBucket> in_bucket);
  bool is_gone() const;  // the folder on a disk is no longer at its path
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
