// Lines and progress bars for people, on standard error. Machine-readable results go to standard
// output, never through these functions.
//
//   log_info("read {} rows", rows);          log_warning("no GPU: using the CPU");
//   Progress bar("training", steps);
//   for (...) bar.update(step, fmt::format("loss {:.3f}", loss));
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/core/clock.h"

namespace hone {

enum class LogLevel { kError, kWarning, kInfo, kDebug };

// From now on, drops lines of levels after `level`: with kWarning, lines of kInfo and kDebug. The level is kInfo at
// start.
void set_log_level(LogLevel level);
LogLevel log_level();
std::string_view severity_of(LogLevel level);  // "ERROR", "WARNING", "INFO", "DEBUG"

// Writes one line and a line break. Puts "warning: " or "error: " before lines of these levels. Secrets that the line
// has are redacted (base/core/redact.h).
void log_line(LogLevel level, std::string_view line);

// Sends the finished text (lines with line breaks) to `sink` instead of standard error. An empty function restores
// standard error.
void set_log_sink(std::function<void(std::string_view)> sink);

// One line of the log, for code that keeps it or sends it.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  double wall_seconds = 0;   // since 1970-01-01 UTC
  int64_t step = -1;         // from set_log_step(); -1: none yet
  std::string_view message;  // without "warning: " or "error: "
  std::string_view data;     // members of a JSON object, "\"loss\":2.5,\"rate\":1e-4", or ""
};
// Calls `listener` with every line that is printed, in order. The calls come from any thread, but one at a time. The
// listener must not log. An empty function removes the listener.
void set_log_listener(std::function<void(const LogRecord&)> listener);

// kJson: one JSON object a line, in the form that Cloud Logging and other agents parse: severity, message, time, the
// members of LogRecord::data, and labels. Progress lines then have this form too, and standard error has nothing else.
// https://cloud.google.com/logging/docs/structured-logging
enum class LogFormat { kText, kJson };
void set_log_format(LogFormat format);
LogFormat log_format();
using LogLabels = std::vector<std::pair<std::string, std::string>>;
void set_log_labels(LogLabels labels);  // names and values for every kJson line: run, host, rank
void set_log_step(int64_t step);        // the step of training, for the records from here on
// The line of a record in the format kJson, without a line break.
std::string log_json(const LogRecord& record, const LogLabels& labels);

// Returns true if text on standard error has colours (base/core/color.h).
bool log_in_color();

template <class... Args>
void log_error(fmt::format_string<Args...> f, Args&&... args) {
  log_line(LogLevel::kError, fmt::format(f, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> f, Args&&... args) {
  log_line(LogLevel::kWarning, fmt::format(f, std::forward<Args>(args)...));
}
template <class... Args>
void log_info(fmt::format_string<Args...> f, Args&&... args) {
  if (log_level() >= LogLevel::kInfo) {
    log_line(LogLevel::kInfo, fmt::format(f, std::forward<Args>(args)...));
  }
}
template <class... Args>
void log_debug(fmt::format_string<Args...> f, Args&&... args) {
  if (log_level() >= LogLevel::kDebug) {
    log_line(LogLevel::kDebug, fmt::format(f, std::forward<Args>(args)...));
  }
}

// The progress of long work. On a terminal it is a bar, redrawn in place at most ten times a second; elsewhere it is a
// plain line every `line_seconds` and at the end. It shows the time left, from the average speed so far. Use one
// Progress at a time; log lines appear above its bar. Nothing is shown if the log level is kWarning or kError.
class Progress {
 public:
  struct Options {
    Clock* clock = &system_clock();  // not owned
    double line_seconds = 10;        // the time between plain lines
    // For tests. 1: as on a terminal; 0: as without one; -1: as on a terminal if standard error is one.
    int force_terminal = -1;
    int64_t start = 0;   // units that an earlier run did; they do not count for the speed
    bool bytes = false;  // true: a unit is a byte, and numbers are shown in the form "1.5 GiB"
  };
  // `total` is the number of units of the work; 0: unknown.
  Progress(std::string title, int64_t total, Options options);
  Progress(std::string title, int64_t total) : Progress(std::move(title), total, Options{}) {}
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Sets the number of units that are done, Options::start included. `text` (loss, speed) ends the line.
  void update(int64_t done, std::string_view text = {});
  // Shows the last line. Later calls of update() and finish() do nothing.
  void finish();
  // Returns true if the progress is a bar, false if it is plain lines.
  bool on_terminal() const { return terminal_; }

 private:
  std::string line(bool terminal) const;
  std::string bar() const;  // the line, cut to the width of the terminal
  std::string title_;
  int64_t total_, done_;
  std::string text_;
  Options options_;
  bool terminal_, finished_ = false, shown_ = false;
  double begin_, last_drawn_;
};

}  // namespace hone
