// The log of a run in its output folder: what it is, every line that it printed, every entry of its
// log_history, what it used, how it ended. `hone runs` reads it during the run and after it.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/core/json.h"
#include "base/core/log.h"
#include "operate/reporters/live_file.h"
#include "operate/reporters/run_info.h"
#include "operate/usage/usage.h"

namespace hone {

// <output_dir>/hone_log.jsonl, one object a line, as log_json() writes it. What was not printed has a
// member "event": begin, plan, log, usage, save, end. Runs in one folder follow each other.
class RunLog {
 public:
  // Adds to the file of output_dir. In a bucket, where a write replaces the whole object, nothing is
  // written before release(): another process may be training into the folder.
  static Result<std::unique_ptr<RunLog>> open(const std::string& output_dir, LogLabels labels);

  void add_line(const LogRecord& line);
  // `members` come into the line beside "event"; NaN and Infinity, which JSON lacks, as null.
  void add_event(const std::string& event, const OrderedJson& members, int64_t step = -1);
  void release();  // the folder is this process's
  void drop();     // it is another one's: what is not written yet never is
  void close();
  // What could not be written since the last call, "" without: to be logged.
  std::string take_failure();

 private:
  RunLog(LiveFile file, LogLabels labels);
  std::mutex mutex_;
  LiveFile file_;
  LogLabels labels_;
  enum class Writes { none, later, now } writes_;
};

OrderedJson usage_json(const Usage& u);

}  // namespace hone
