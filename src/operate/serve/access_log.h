// The access log: one line for each request, written by a thread of its own.
//
//   auto log = HONE_TRY(AccessLog::open("access.log", AccessFormat::json));
//   log->add(record);                        // waits for no disk and no reader
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "base/core/error.h"
#include "operate/http/request.h"

namespace hone {

struct AccessRecord {
  double begun = 0;  // arrival of the head of the request, in seconds since 1970
  std::string peer, protocol, method, path, referer, agent, id;
  int status = 0;
  int64_t bytes_in = 0, bytes_out = 0;  // of the bodies
  double seconds = 0;                   // until the end of the answer
  double first_seconds = -1;            // until the first piece of a stream; -1: it was none
  WorkFacts work = {};
};

// combined: the form of Apache and nginx, followed by name=value. json: one object. Both are one line without secrets:
// the query of a path or referer is left out, the rest passes through redact_text().
enum class AccessFormat { combined, json };
std::string access_line(const AccessRecord& record, AccessFormat format);

class AccessLog {
 public:
  // Appends to the file, which others may not read; "-": standard output. A file that was moved away or removed is made
  // again. H3402: it cannot be written.
  static Result<std::unique_ptr<AccessLog>> open(const std::string& path, AccessFormat format);
  // Writes the lines that wait, for at most a second.
  ~AccessLog();

  // Any thread. A line that has no place among those that wait is lost.
  void add(const AccessRecord& record);
  int64_t lost() const;

 private:
  AccessLog(std::string path, AccessFormat format, int file);
  void run();
  void write(std::string_view lines);
  bool wait_for_reader();
  void reopen_moved_file();

  const std::string path_;
  const AccessFormat format_;
  int file_;
  bool is_file_ = false;  // not a pipe or terminal
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  std::string waiting_;
  int64_t lost_ = 0;
  bool stopped_ = false;
  double stopped_at_ = 0;
  std::thread thread_;
};

}  // namespace hone
