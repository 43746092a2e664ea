// Lines and progress bars for people, on standard error. Machine-readable results go to standard
// output and never through here.
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

// Lines above this level are dropped; kInfo at start.
void set_log_level(LogLevel level);
LogLevel log_level();
std::string_view severity_of(LogLevel level);  // "INFO", "WARNING", as syslog and clouds name it

// Writes one line (a line break is added); warnings and errors begin with "warning: ", "error: ".
void log_line(LogLevel level, std::string_view line);

// Sends the finished text to `sink` instead of standard error; an empty function restores it.
void set_log_sink(std::function<void(std::string_view)> sink);

// One line of the log, for those who keep or send it.
struct LogRecord {
  LogLevel level = LogLevel::kInfo;
  double wall_seconds = 0;
  int64_t step = -1;         // of set_log_step(); -1: there is none yet
  std::string_view message;  // without "warning: "
  std::string_view data;     // members of a JSON object, "\"loss\":2.5,\"rate\":1e-4", or ""
};
// Called with every line that is printed, in order. It must not log. An empty function ends it.
void set_log_listener(std::function<void(const LogRecord&)> listener);

// json: one object a line, in the form that Cloud Logging and other agents parse: severity,
// message, time, the members of LogRecord::data, and labels. Progress is then plain lines, and
// standard error has nothing else. https://cloud.google.com/logging/docs/structured-logging
enum class LogFormat { kText, kJson };
void set_log_format(LogFormat format);
LogFormat log_format();
using LogLabels = std::vector<std::pair<std::string, std::string>>;
void set_log_labels(LogLabels labels);  // of every line: run, host, rank
void set_log_step(int64_t step);        // the label `step` from here on
// The line of `format` json, without a line break.
std::string log_json(const LogRecord& record, const LogLabels& labels);

// Whether standard error has colours (base/core/color.h).
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

// A bar that redraws in place on a terminal (at most ten times a second); elsewhere, a plain line
// every `line_seconds` and at the end. Shows time left from the average speed so far. One bar
// is drawn at a time; log lines appear above it. Hidden when the level is below kInfo.
class Progress {
 public:
  struct Options {
    Clock* clock = &system_clock();
    double line_seconds = 10;
    int force_terminal = -1;  // tests: 1 or 0 instead of asking standard error
    int64_t start = 0;        // units that were done before (a resumed run)
    bool bytes = false;       // units are bytes: printed as 1.5 GiB
  };
  Progress(std::string title, int64_t total, Options options);
  Progress(std::string title, int64_t total) : Progress(std::move(title), total, Options{}) {}
  ~Progress() { finish(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // `done` of `total` units are done; `text` (loss, speed) ends the line.
  void update(int64_t done, std::string_view text = {});
  // The last line; later calls do nothing.
  void finish();
  // Whether it is a bar; else lines.
  bool on_terminal() const { return terminal_; }

 private:
  std::string line(bool terminal) const;
  std::string bar() const;  // the line without what a terminal has no room for
  std::string title_;
  int64_t total_, done_;
  std::string text_;
  Options options_;
  bool terminal_, finished_ = false, shown_ = false;
  double begin_, last_drawn_;
};

}  // namespace hone
