// A file of this machine, mapped into memory, read only.
// While it is read, other programs may truncate it or write into it, and its disk or server may
// fail. A read of lost bytes then returns zeros instead of ending the process (SIGBUS), and
// check_unchanged() reports it from then on. So read, call check_unchanged(), and only then use the
// data; check the bounds of sizes and places before each read.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/error.h"

namespace hone {

class MappedFile {
 public:
  // Errors H0101, H0102, H0104.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  std::string_view bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Whether a read found lost bytes. Costs nothing.
  bool lost() const { return range_ && range_->lost.load(std::memory_order_acquire); }
  // H0117 if a read found lost bytes, or if size or modification time have changed. A deleted or
  // replaced file is still readable. Costs one stat.
  Status check_unchanged() const;

  struct Range {                                // data of a mapping for the SIGBUS handler
    std::atomic<uintptr_t> begin = 0, end = 0;  // 0: free
    std::atomic<bool> lost = false;
    Range* next = nullptr;
  };

 private:
  MappedFile() = default;
  std::string path_;
  const char* data_ = nullptr;
  size_t size_ = 0;
  uint64_t device_ = 0, inode_ = 0;
  int64_t changed_ns_ = 0;
  Range* range_ = nullptr;  // null for an empty file
};

}  // namespace hone
