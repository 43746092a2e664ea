// One process at a time trains into an output folder.
#pragma once

#include <string>

#include "base/core/error.h"

namespace hone {

// Holds the folder until destroyed, or until the process ends in whatever way (flock on the folder
// itself: no file is left). Where the file system knows no locks it holds nothing.
class RunLock {
 public:
  // Makes the folder when it is absent, and removes what a killed process was writing into it.
  // Errors: H2403 another process holds it.
  static Result<RunLock> take(const std::string& folder);
  RunLock(RunLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  RunLock& operator=(RunLock&&) = delete;
  ~RunLock();

 private:
  explicit RunLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace hone
