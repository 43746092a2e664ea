// A file that grows while a run writes it and that others read meanwhile: logs, events.
#pragma once

#include <future>
#include <memory>
#include <string>
#include <string_view>

#include "base/store/store.h"

namespace hone {

// On a disk each flush() appends, and what was flushed survives the end of the process. In a bucket each
// write sends the whole object again, so flush() does so at most every 30 seconds and while the caller
// continues; a failure there is kept once for take_failure() and does not end the run.
class LiveFile {
 public:
  // Makes the file when it is absent, else adds to its end.
  static Result<LiveFile> open(std::string path);
  LiveFile(LiveFile&&) noexcept;
  LiveFile& operator=(LiveFile&&) = delete;
  ~LiveFile();

  void add(std::string_view bytes) { pending_ += bytes; }
  Status flush();
  // The last flush: in a bucket it waits until all is there.
  Status close();

  const std::string& path() const { return path_; }
  bool in_bucket() const { return path_.find("://") != std::string::npos; }
  // What could not be written since the last call, "" without: to be logged.
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
