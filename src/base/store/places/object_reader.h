// Reads an object of an object store as a Reader. A large read is split into ranges that are requested in parallel.
// Small reads come from a window that is read ahead.
#pragma once

#include <future>
#include <mutex>
#include <vector>

#include "base/store/objects/bucket.h"
#include "base/store/store.h"

namespace hone {

class ObjectReader : public Reader {
 public:
  ObjectReader(Bucket& bucket, ObjectInfo object, std::string name)
      : bucket_(bucket), object_(std::move(object)), name_(std::move(name)) {}
  ~ObjectReader() override;

  int64_t bytes() const override { return object_.bytes; }
  // Error H0105 if the object ends before `out` is full. If the object is read completely in order, its bytes are
  // checked against the CRC-32C of the store: Error H0113 if they differ. Other errors: those of Bucket::read().
  Status read(int64_t offset, std::span<std::byte> out) override;

 private:
  struct Window {
    int64_t begin = 0;
    std::vector<std::byte> bytes;
    int64_t end() const { return begin + static_cast<int64_t>(bytes.size()); }
  };
  Status fetch(int64_t offset, std::span<std::byte> out);
  Result<Window> window_at(int64_t begin, int64_t bytes);
  Status check(int64_t offset, std::span<const std::byte> bytes);
  void read_ahead();

  Bucket& bucket_;
  ObjectInfo object_;
  std::string name_;
  std::mutex mutex_;
  Window window_;
  int64_t next_bytes_ = 0;  // the size of the next window; grows during sequential reads
  std::future<Result<Window>> ahead_;
  int64_t checked_ = 0;  // the number of bytes from the beginning that `sum_` covers
  uint32_t sum_ = 0;
};

}  // namespace hone
