#include "base/core/log.h"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <mutex>

#include "base/core/color.h"
#include "base/core/json.h"
#include "base/core/log_wrap.h"
#include "base/core/process.h"
#include "base/core/quiet_thread.h"
#include "base/core/redact.h"
#include "base/core/text.h"

namespace hone {
namespace {
struct LogState {
  std::mutex mutex;
  std::atomic<LogLevel> level{LogLevel::kInfo};
  std::atomic<LogFormat> format{LogFormat::kText};
  std::atomic<int64_t> step{-1};
  std::function<void(std::string_view)> sink;
  std::function<void(const LogRecord&)> listener;
  LogLabels labels;
  std::function<std::string()> bar;  // the last line of the terminal; empty: none
  std::string text;  // of one line: kept, so that a line of usual length allocates nothing
  LogState() { text.reserve(512); }
};
thread_local bool is_quiet = false;

LogState& state() {
  static LogState* s = new LogState;  // lives to the end: threads may log while the program exits
  return *s;
}

void emit(std::string_view text) {
  if (state().sink) {
    state().sink(text);
    return;
  }
  while (!text.empty()) {
    ssize_t n = ::write(STDERR_FILENO, text.data(), text.size());
    if (n <= 0) return;  // it no longer has a reader
    text.remove_prefix(static_cast<size_t>(n));
  }
}

constexpr std::string_view kClearLine = "\r\x1b[K";

}  // namespace

void set_log_level(LogLevel level) { state().level = level; }
LogLevel log_level() { return is_quiet ? LogLevel::kError : state().level.load(); }

QuietThread::QuietThread(bool on) : on_(on && !is_quiet) {
  if (on_) is_quiet = true;
}
QuietThread::~QuietThread() {
  if (on_) is_quiet = false;
}

void set_log_sink(std::function<void(std::string_view)> sink) {
  std::lock_guard lock(state().mutex);
  state().sink = std::move(sink);
}

bool log_in_color() { return has_color(STDERR_FILENO); }

void set_log_listener(std::function<void(const LogRecord&)> listener) {
  std::lock_guard lock(state().mutex);
  state().listener = std::move(listener);
}

void set_log_format(LogFormat format) { state().format = format; }
LogFormat log_format() { return state().format; }
void set_log_labels(LogLabels labels) {
  std::lock_guard lock(state().mutex);
  state().labels = std::move(labels);
}
void set_log_step(int64_t step) { state().step = step; }

std::string_view severity_of(LogLevel level) {
  switch (level) {
    case LogLevel::kError:
      return "ERROR";
    case LogLevel::kWarning:
      return "WARNING";
    case LogLevel::kInfo:
      return "INFO";
    case LogLevel::kDebug:
      return "DEBUG";
  }
  return "DEFAULT";
}

std::string log_json(const LogRecord& r, const LogLabels& labels) {
  OrderedJson line;
  line["severity"] = severity_of(r.level);
  line["message"] = r.message;
  line["time"] = format_utc(r.wall_seconds, 6);
  OrderedJson marks = OrderedJson::object();
  for (const auto& [name, value] : labels) marks[name] = value;
  if (r.step >= 0) marks["step"] = std::to_string(r.step);
  if (!marks.empty()) line["logging.googleapis.com/labels"] = std::move(marks);
  std::string text = dump_json(line);
  if (!r.data.empty()) text.insert(text.size() - 1, ", " + std::string(r.data));
  return text;
}

namespace {

// Paints a line for a terminal: the word before the column of texts ("{:<11} "), and the loss.
void append_painted(std::string_view line, std::string& text) {
  if (has_text_column(line)) {
    const size_t word = line.find("  ");
    text += "\x1b[36m";
    text += line.substr(0, word);
    text += "\x1b[0m";
    line.remove_prefix(word);
  }
  constexpr std::string_view kLoss = "loss ";
  if (const size_t at = line.find(kLoss); at != line.npos) {
    const size_t begin = at + kLoss.size();
    const size_t end = std::min(line.find_first_not_of("0123456789.e+-", begin), line.size());
    if (end > begin) {
      text += line.substr(0, begin);
      text += "\x1b[1m";
      text += line.substr(begin, end - begin);
      text += "\x1b[0m";
      line.remove_prefix(end);
    }
  }
  text += line;
}

// The mutex is held.
void write_record(LogState& s, const LogRecord& given, bool with_word) {
  LogRecord r = given;
  std::string redacted;
  if (may_hold_a_secret(r.message)) r.message = redacted = redact_text(std::string(r.message));
  if (s.listener) s.listener(r);
  std::string wrapped;
  if (const size_t width = s.sink || s.format == LogFormat::kJson ? 0 : terminal_columns();
      width > 0 && r.message.size() > width)
    r.message = wrapped = wrap_line(r.message, width);
  std::string& text = s.text;
  text.clear();
  if (s.format == LogFormat::kJson) {
    text = log_json(r, s.labels);
    text += '\n';
    emit(text);
    return;
  }
  if (s.bar) text += kClearLine;
  const bool color = !s.sink && log_in_color();
  if (with_word && r.level <= LogLevel::kWarning) {
    std::string_view word = r.level == LogLevel::kError ? "error: " : "warning: ";
    if (color) text += r.level == LogLevel::kError ? "\x1b[31m" : "\x1b[33m";
    text += word;
    if (color) text += "\x1b[0m";
  }
  if (color)
    append_painted(r.message, text);
  else
    text += r.message;
  text += '\n';
  if (s.bar) text += s.bar();
  emit(text);
}

}  // namespace

void log_line(LogLevel level, std::string_view line) {
  LogState& s = state();
  if (level > log_level()) return;
  std::lock_guard lock(s.mutex);
  write_record(s, {level, system_clock().wall_seconds(), s.step, line, ""}, true);
}

Progress::Progress(std::string title, int64_t total, Options options)
    : title_(std::move(title)), total_(total), done_(options.start), options_(options) {
  terminal_ = options.force_terminal >= 0
                  ? options.force_terminal == 1
                  : is_terminal(STDERR_FILENO) && state().format == LogFormat::kText;
  text_.reserve(256);  // update() allocates nothing unless it draws
  begin_ = options.clock->seconds();
  last_drawn_ = terminal_ ? begin_ - 1 : begin_;
}

std::string Progress::line(bool terminal) const {
  double elapsed = options_.clock->seconds() - begin_;
  int64_t moved = done_ - options_.start;
  auto unit = [&](int64_t n) { return options_.bytes ? format_bytes(n) : fmt::format("{}", n); };
  std::string s = title_ + " ";
  if (total_ > 0) {
    double part = std::clamp(static_cast<double>(done_) / static_cast<double>(total_), 0.0, 1.0);
    if (terminal) {
      int filled = static_cast<int>(part * 20);
      s += "[" + std::string(filled, '#') + std::string(20 - filled, '.') + "] ";
    }
    s += fmt::format("{}/{} {:.0f}% {}", unit(done_), unit(total_), part * 100,
                     format_duration(elapsed));
    if (moved > 0 && done_ < total_) {
      s += " left " + format_duration(elapsed / static_cast<double>(moved) *
                                      static_cast<double>(total_ - done_));
    }
  } else {
    s += fmt::format("{} {}", unit(done_), format_duration(elapsed));
  }
  if (!text_.empty()) s += "  " + text_;
  return s;
}

std::string Progress::bar() const {
  std::string s = line(true);
  const size_t width = terminal_columns();
  const size_t most = (width > 0 ? width : 100) - 1;
  if (s.size() > most) {  // without the word that does not fit
    s = utf8_prefix(s, most);
    s.resize(std::min(s.size(), s.find_last_of(' ')));
  }
  return s;
}

void Progress::update(int64_t done, std::string_view text) {
  if (finished_ || log_level() < LogLevel::kInfo) return;
  LogState& s = state();
  std::lock_guard lock(s.mutex);  // other threads' lines draw the bar
  done_ = done;
  text_ = text;
  double now = options_.clock->seconds();
  if (now - last_drawn_ < (terminal_ ? 0.1 : options_.line_seconds)) return;
  last_drawn_ = now;
  shown_ = true;
  if (!terminal_) {
    write_record(s, {LogLevel::kInfo, options_.clock->wall_seconds(), s.step, line(false), ""},
                 false);
    return;
  }
  s.bar = [this] { return bar(); };
  emit(std::string(kClearLine) + bar());
}

void Progress::finish() {
  if (finished_) return;
  finished_ = true;
  if (!shown_ && done_ == options_.start) return;
  LogState& s = state();
  std::lock_guard lock(s.mutex);
  if (s.bar) emit(kClearLine);
  s.bar = nullptr;
  if (log_level() < LogLevel::kInfo) return;
  write_record(s, {LogLevel::kInfo, options_.clock->wall_seconds(), s.step, line(terminal_), ""},
               false);
}

}  // namespace hone
