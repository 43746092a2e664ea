// Detects that the kernel killed a process because memory ran out.
#pragma once

#include <cstdint>
#include <string>

namespace hone {

class OutOfMemoryWatch {
 public:
  // Reads the kernel's present counts of killed processes. `root` is put before /proc and /sys, for tests.
  explicit OutOfMemoryWatch(std::string root = "");
  // The memory that ran out: "the limit of its control group (16.0 GiB)" or "the memory of its host". "": the kernel
  // has killed no process for lack of memory since this object was made.
  std::string exhausted() const;

 private:
  int64_t group_kills() const;
  int64_t host_kills() const;
  std::string root_;
  int64_t group_, host_;
};

}  // namespace hone
