// One process at a time trains into an output folder.
#pragma once

#include <memory>
#include <string>

#include "base/core/clock.h"
#include "base/core/error.h"
#include "base/store/store.h"

namespace hone {

// Holds the folder until destroyed, or until the process ends in whatever way. On a disk: flock on
// the folder itself, no file is left; where the file system knows no locks it holds nothing. In a
// bucket: the object .hone_lock, which names the process and is written again every 20 seconds; the
// lock of a process that is gone from this machine is taken over at once, another one when it was
// not written for 75 seconds. No clock but the own one decides.
class RunLock {
 public:
  // Makes the folder when it is absent, and removes what a killed process was writing into it.
  // Errors: H2403 another process holds it (also where its write, H0118, came first).
  // The lock in a bucket is written again every `beat_s` seconds; only tests give another number.
  static Result<RunLock> take(const std::string& folder, Clock& clock = system_clock(),
                              double beat_s = 20);
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

  // H2403: another process took the folder over, because this one did not say for too long that it
  // is alive (a machine that was stopped, a network that was cut); or the lock was removed (H0101
  // when it was written again). Nothing more may be written into it.
  Status check() const;

 private:
  struct InBucket;
  RunLock(int fd, std::unique_ptr<InBucket> in_bucket);
  int fd_;
  std::unique_ptr<InBucket> in_bucket_;
};

// The process in a lock; exposed for tests.
struct LockOwner {
  std::string host, boot, space, start;  // start: the process' start in clock ticks since boot
  int64_t pid = 0;
  std::string name;  // of this lock alone
  static LockOwner self();
  // True only if the process was on this machine and no longer exists.
  bool is_gone() const;
};

}  // namespace hone
