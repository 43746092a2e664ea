// The log of a run in its output folder: the settings and the machine, every printed line, every entry of log_history,
// the use of the machine, and the end of the run. `hone runs` reads it during the run and later.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/core/json.h"
#include "base/core/log.h"
#include "operate/reporters/live_file.h"
#include "operate/reporters/run_info.h"
#include "operate/telemetry/usage.h"

namespace hone {

// Writes <output_dir>/hone_log.jsonl: one JSON object a line, in the form of log_json(). Lines that were not printed
// have a member "event", such as "begin", "plan", "log", "progress", "usage", "save", "ended_before" or "end". A
// second run in the same folder appends to the file. Any thread may use it.
class RunLog {
 public:
  // Opens the file to append to it. In a bucket a write replaces the whole object, so nothing is written before
  // release(): another process may be training into the folder. `labels` are put into every line. Errors: those of the
  // store.
  static Result<std::unique_ptr<RunLog>> open(const std::string& output_dir, LogLabels labels);

  void add_line(const LogRecord& line);
  // Adds a line with the member "event" and then `members`, an object. NaN and Infinity, which JSON does not have,
  // become null. `step`: the optimizer step; -1: none.
  void add_event(const std::string& event, const OrderedJson& members, int64_t step = -1);
  // Call release() or drop() when it is known which process the folder belongs to. They matter only for a bucket.
  void release();  // the folder belongs to this process: lines are written from now on
  void drop();     // the folder belongs to another process: discards all lines, also later ones
  void close();
  // The message of a failed write, for the log: LiveFile::take_failure().
  std::string take_failure();

 private:
  RunLog(LiveFile file, LogLabels labels);
  std::mutex mutex_;
  LiveFile file_;
  LogLabels labels_;
  enum class Writes { none, later, now } writes_;
};

// The members of an event "usage".
OrderedJson usage_json(const Usage& u);

}  // namespace hone
