// The access log: one line for each request, written by a thread of its own.
//
//   auto log = HONE_TRY(AccessLog::open("access.log", AccessFormat::json));
//   log->add(record);                        // returns at once: another thread writes the line
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
  double begun = 0;  // arrival of the request's headers, in seconds since 1970
  std::string peer, protocol, method, path, referer, agent, id;  // peer: address of the client
  int status = 0;
  int64_t bytes_in = 0, bytes_out = 0;  // sizes of the bodies of the request and the answer
  double seconds = 0;                   // from `begun` to the end of the answer
  // Seconds from `begun` to the first part of a streamed answer; -1: the answer was not streamed.
  double first_seconds = -1;
  WorkFacts work = {};
};

// Format of a line. combined: the "combined" log format of Apache and nginx, followed by fields NAME=VALUE. json: a
// JSON object.
enum class AccessFormat { combined, json };
// One line, with a line break. It has no secrets: the queries of the path and of the referer are left out, and the
// client's texts pass through redact_text().
std::string access_line(const AccessRecord& record, AccessFormat format);

class AccessLog {
 public:
  // Appends to the file; "-": standard output. A new file can be read only by its owner and group. If the file is moved
  // or removed later, it is created again. Error H3402: the file cannot be written.
  static Result<std::unique_ptr<AccessLog>> open(const std::string& path, AccessFormat format);
  // Writes the waiting lines. If the log is a pipe, lines that its reader does not take within about a second are lost.
  ~AccessLog();

  // Queues a line; any thread may call it. If 4 MiB of lines already wait, drops the line and counts it in lost().
  void add(const AccessRecord& record);
  int64_t lost() const;  // number of lines that were dropped or could not be written

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
