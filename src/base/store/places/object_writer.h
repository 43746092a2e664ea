// Writes an object of an object store as a Writer. A small object is sent in one request, a large one in parts.
#pragma once

#include <deque>
#include <future>
#include <vector>

#include "base/store/objects/bucket.h"
#include "base/store/store.h"

namespace hone {

class ObjectWriter : public Writer {
 public:
  ObjectWriter(Bucket& bucket, std::string key, Condition condition)
      : bucket_(bucket), key_(std::move(key)), condition_(std::move(condition)) {}
  ~ObjectWriter() override;

  // Sends whole parts directly from `bytes`. Smaller pieces are collected into parts, which are sent in the background,
  // so write() or commit() may return the Error of an earlier part.
  Status write(std::span<const std::byte> bytes) override;
  Status sync() override { return Ok{}; }  // nothing is stored before commit()
  Status commit() override;

  const ObjectInfo& written() const { return written_; }  // after commit()

 private:
  Status begin_upload();
  Status send_gathered(bool last);
  Status wait_for(size_t most_in_flight);
  int64_t part_size() const { return bucket_.part_bytes(parts_); }

  Bucket& bucket_;
  std::string key_;
  Condition condition_;
  std::unique_ptr<Upload> upload_;
  std::vector<std::byte> gathered_;
  std::deque<std::future<Status>> in_flight_;
  int64_t parts_ = 0, sent_ = 0;
  uint32_t sum_ = 0;
  ObjectInfo written_;
};

}  // namespace hone
