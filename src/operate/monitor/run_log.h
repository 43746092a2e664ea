// The log of a run in its output folder: its settings and machine, every printed line, every entry
// of log_history, its use of the machine, its end. `hone runs` reads it during the run and later.
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

// <output_dir>/hone_log.jsonl, one object a line, in the form of log_json(). Lines that were not
// printed have a member "event": begin, plan, log, usage, save, end. Several runs of one folder
// follow each other.
class RunLog {
 public:
  // Appends to the file in output_dir. In a bucket a write replaces the whole object, so nothing is
  // written before release(): another process may be training into the folder.
  static Result<std::unique_ptr<RunLog>> open(const std::string& output_dir, LogLabels labels);

  void add_line(const LogRecord& line);
  // `members` follow "event" in the line; NaN and Infinity, which JSON lacks, become null.
  void add_event(const std::string& event, const OrderedJson& members, int64_t step = -1);
  void release();  // the folder belongs to this process
  void drop();     // it belongs to another: discards unwritten lines
  void close();
  // The error of writes since the last call, to be logged; "": none.
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
