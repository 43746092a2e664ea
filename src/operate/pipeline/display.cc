#include "operate/pipeline/display.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include "base/core/log.h"
#include "base/core/process.h"
#include "base/core/text.h"

namespace hone {
namespace {

constexpr double kPlainSeconds = 30;

size_t terminal_columns() {
  winsize size{};
  return ::ioctl(2, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 80;
}

}  // namespace

StepDisplay::StepDisplay(std::vector<std::string> names, Clock& clock, int force_terminal)
    : names_(std::move(names)), clock_(clock) {
  terminal_ =
      force_terminal < 0 ? is_terminal(2) && log_format() == LogFormat::kText : force_terminal == 1;
  for (const std::string& name : names_) rows_[name] = {};
}

void StepDisplay::set(const std::string& step, const std::string& status,
                      const std::string& detail) {
  Row& row = rows_[step];
  if (status == "running" && row.status != "running") row.began = row.said = clock_.seconds();
  row.status = status;
  row.detail = detail;
  if (terminal_) return redraw();
  log_info("{:<11} {}{}", step, status, detail.empty() ? "" : ": " + detail);
}

void StepDisplay::tell(const std::string& step, const std::string& line) {
  Row& row = rows_[step];
  if (line.empty() || line == row.detail) return;
  if (terminal_) {
    row.detail = line;
  } else if (clock_.seconds() - row.said >= kPlainSeconds) {
    row.detail = line;
    row.said = clock_.seconds();
    log_info("{:<11} {}", step, line);
  }
}

std::string StepDisplay::line(const std::string& name, const Row& row) const {
  const bool running = row.status == "running";
  std::string text = fmt::format(
      "{:<14} {:<8}", name, running ? format_duration(clock_.seconds() - row.began) : row.status);
  if (!row.detail.empty()) text += " " + row.detail;
  return std::string(utf8_prefix(text, terminal_columns() - 1));
}

void StepDisplay::redraw() {
  if (!terminal_ || finished_ || log_level() < LogLevel::kInfo) return;
  std::string lines;
  for (const std::string& name : names_) lines += "\r\033[K" + line(name, rows_[name]) + "\n";
  if (lines == drawn_) return;
  std::string text = drawn_.empty() ? "" : fmt::format("\033[{}A", names_.size());
  text += lines;
  drawn_ = lines;
  (void)!::write(2, text.data(), text.size());
}

void StepDisplay::finish() {
  if (finished_) return;
  redraw();
  finished_ = true;
}

std::string last_line_of(std::string_view text) {
  std::string last;
  std::string line;
  const auto take = [&] {
    if (!trim(line).empty()) last = std::string(trim(line));
    line.clear();
  };
  for (size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '\n' || c == '\r') {
      take();
    } else if (c == '\033' && at + 1 < text.size() && text[at + 1] == '[') {
      at += 2;
      while (at < text.size() && (text[at] < '@' || text[at] > '~')) ++at;
    } else if (static_cast<unsigned char>(c) >= ' ') {
      line += c;
    }
  }
  take();
  return last;
}

}  // namespace hone
