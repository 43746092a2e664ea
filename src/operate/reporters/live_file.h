// A file that grows during a run while other programs read it, such as a log.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/url.h"
#include "base/store/store.h"

namespace hone {

// On a disk each flush() appends to the file, and flushed data survive the end of the process. In a bucket each write
// sends the whole object again, so flush() sends at most every 30 seconds, in the background. The first failure of
// these writes is kept for take_failure(), and does not end the run.
class LiveFile {
 public:
  // Opens the file to append to it, and creates it if it is missing. Other users of the machine may not read the file.
  // Errors: those of the store.
  static Result<LiveFile> open(std::string path);
  LiveFile(LiveFile&&) noexcept;
  LiveFile& operator=(LiveFile&&) = delete;
  ~LiveFile();

  // Queues bytes for the next flush().
  void add(std::string_view bytes) { pending_ += bytes; }
  // Writes the queued bytes. Errors: those of the store for a file on a disk; none for a file in a bucket.
  Status flush();
  // Writes everything and waits until it is on the disk or in the bucket. Errors: those of the store.
  Status close();

  const std::string& path() const { return path_; }
  bool in_bucket() const { return is_url(path_); }
  // Returns the error text of the first failed write to the bucket, so that the caller can log it, and forgets it. ""
  // if no write failed, or if an earlier call returned the text.
  std::string take_failure() { return std::exchange(failure_, {}); }

 private:
  struct Bucket;
  explicit LiveFile(std::string path);
  Status flush_bucket(bool last);

  std::string path_, pending_, failure_;
  std::unique_ptr<Writer> writer_;  // on a disk
  std::unique_ptr<Bucket> bucket_;
  std::future<Status> sent_;  // uses bucket_
  double sent_at_ = 0;
  bool told_ = false;
};

}  // namespace hone
