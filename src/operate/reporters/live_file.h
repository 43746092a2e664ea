// A file that grows during a run while others read it: logs, events.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "base/core/url.h"
#include "base/store/store.h"

namespace hone {

// On a disk each flush() appends, and flushed data survive the end of the process. In a bucket each
// write sends the whole object again, so flush() does it at most every 30 seconds, in the
// background; a failure there is kept once for take_failure() and does not end the run.
class LiveFile {
 public:
  // Creates the file, or appends if it exists. Others may not read it.
  static Result<LiveFile> open(std::string path);
  LiveFile(LiveFile&&) noexcept;
  LiveFile& operator=(LiveFile&&) = delete;
  ~LiveFile();

  void add(std::string_view bytes) { pending_ += bytes; }
  Status flush();
  // Flushes for the last time; in a bucket it waits until everything is written.
  Status close();

  const std::string& path() const { return path_; }
  bool in_bucket() const { return is_url(path_); }
  // The error of writes since the last call, to be logged; "": none.
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
