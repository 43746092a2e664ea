// A file of this machine, mapped into memory, read-only.
//
// While it is mapped, other programs may truncate the file or write into it, and its disk or file server may fail. A
// read of lost bytes would normally end the process with SIGBUS. Here the read returns zeros, and
// check_unchanged() reports the loss from then on. So read the data, call check_unchanged(), and only then use what was
// read. Sizes and offsets that come from the file itself need a bounds check before each use.
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
  // Errors: H0101 the file does not exist, H0102 permission is denied, H0104 reading fails.
  static Result<std::shared_ptr<const MappedFile>> open(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;

  std::string_view bytes() const { return {data_, size_}; }
  const std::string& path() const { return path_; }
  // Returns true if a read found lost bytes. Makes no system call.
  bool lost() const { return range_ && range_->lost.load(std::memory_order_acquire); }
  // Error H0117 if a read found lost bytes, or if the file's size or modification time has changed. It is not an Error
  // if the file was deleted or replaced by another one: the mapping keeps the old bytes. Makes one stat() call.
  Status check_unchanged() const;

  // The addresses [begin, end) of a mapping, for the SIGBUS handler.
  struct Range {
    std::atomic<uintptr_t> begin = 0, end = 0;  // begin 0: not in use
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
