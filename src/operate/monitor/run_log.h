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
  // Adds to the file of output_dir.
  static Result<std::unique_ptr<RunLog>> open(const std::string& output_dir, LogLabels labels);

  void add_line(const LogRecord& line);
  // `members` come into the line beside "event"; NaN and Infinity, which JSON lacks, as null.
  void add_event(const std::string& event, const OrderedJson& members, int64_t step = -1);
  void close();

 private:
  RunLog(LiveFile file, LogLabels labels) : file_(std::move(file)), labels_(std::move(labels)) {}
  std::mutex mutex_;
  LiveFile file_;
  LogLabels labels_;
};

OrderedJson usage_json(const Usage& u);

}  // namespace hone
