// A file of this machine in memory, read only.
//
// Somebody may cut the file short, write into it, or its disk or server may go away while it
// is read. A read of bytes that are gone gives zeros instead of ending the process (SIGBUS), and
// check_unchanged() says so from then on. So: read, check, and only then use what was read; sizes
// and places that were read are bounded before.
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
  // Whether a read found bytes gone. Costs nothing.
  bool lost() const { return range_ && range_->lost.load(std::memory_order_acquire); }
  // H0117 when a read found bytes gone, or size or time of change are not what they were. A file
  // that was deleted or replaced by another of its name is still the one that is read. One stat.
  Status check_unchanged() const;

  struct Range {                                // what the handler of SIGBUS knows of a mapping
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
