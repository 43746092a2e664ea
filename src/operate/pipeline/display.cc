#include "operate/pipeline/display.h"

#include <unistd.h>

#include <algorithm>

#include "base/core/characters.h"
#include "base/core/log.h"
#include "base/core/log_wrap.h"
#include "base/core/process.h"
#include "base/core/text.h"

namespace hone {
namespace {

constexpr double kPlainSeconds = 30;
constexpr size_t kIndent = 15;  // of what follows the name of a step

size_t columns_or_usual() {
  const size_t columns = terminal_columns();
  return columns > 0 ? columns : 80;
}

// Characters of UTF-8.
size_t width_of(std::string_view text) { return static_cast<size_t>(count_characters(text)); }

// The rows of a terminal that these lines take.
size_t rows_of(const std::string& lines, size_t columns) {
  size_t rows = 0;
  for (const std::string& line : split(lines, '\n'))
    rows += std::max<size_t>(1, (width_of(line) + columns - 1) / columns);
  return rows - 1;  // nothing follows the last line break
}

std::string step_text(const std::string& name, const std::string& status, const std::string& detail,
                      size_t columns) {
  return wrapped_text(fmt::format("{:<14} {:<8} ", name, status), detail, kIndent, columns);
}

}  // namespace

std::string wrapped_text(std::string_view begin, std::string_view text, size_t indent,
                         size_t columns) {
  if (text.empty()) return fmt::format("{}\n", trim(begin));
  std::string out, line(begin);
  bool has_word = false;  // on this line
  for (const std::string& word : split(text, ' ')) {
    const bool fits = width_of(line) + 1 + width_of(word) <= columns;
    if (!fits && (has_word || width_of(line) > indent)) {
      out += fmt::format("{}\n", std::string_view(line).substr(0, line.find_last_not_of(' ') + 1));
      line = std::string(indent, ' ');
      has_word = false;
    }
    if (has_word || (!line.empty() && line.back() != ' ')) line += ' ';
    line += word;
    has_word = true;
  }
  return out + line + "\n";
}

StepDisplay::StepDisplay(std::vector<std::string> names, Clock& clock, int force_terminal)
    : names_(std::move(names)), clock_(clock) {
  terminal_ =
      force_terminal < 0 ? is_terminal(2) && log_format() == LogFormat::kText : force_terminal == 1;
  for (const std::string& name : names_) rows_[name] = {};
}

void StepDisplay::set(const std::string& step, const std::string& status, const std::string& detail,
                      const std::vector<std::string>& results) {
  Row& row = rows_[step];
  if (status == "running" && row.status != "running") row.began = row.said = clock_.seconds();
  row.status = status;
  row.detail = detail;
  row.stays = status != "running" && status != "waiting";
  if (!terminal_) {
    log_info("{:<11} {}{}", step, status, detail.empty() ? "" : ": " + detail);
    for (const std::string& line : results) log_info("{:<11} {}", step, line);
    return;
  }
  if (status == "running") return redraw();
  const size_t columns = columns_or_usual();
  std::string lasting = step_text(step, status, detail, columns);
  for (const std::string& line : results)
    lasting += wrapped_text(std::string(kIndent, ' '), line, kIndent + 2, columns);
  if (status == "waiting") row.detail.clear();
  draw(lasting, live_text(columns), columns);
}

void StepDisplay::tell(const std::string& step, const std::string& output) {
  Row& row = rows_[step];
  const std::string line = without_label(step, output);
  if (line.empty() || line == row.detail || !says_what_is_done(step, output)) return;
  if (terminal_) {
    row.detail = line;
  } else if (clock_.seconds() - row.said >= kPlainSeconds) {
    row.detail = line;
    row.said = clock_.seconds();
    log_info("{:<11} {}", step, line);
  }
}

// The steps that run, and the names of those that wait.
std::string StepDisplay::live_text(size_t columns) const {
  std::string text, waiting;
  for (const std::string& name : names_) {
    const Row& row = rows_.at(name);
    if (row.status == "running")
      text += step_text(name, format_duration(clock_.seconds() - row.began), row.detail, columns);
    else if (!row.stays)
      waiting += (waiting.empty() ? "" : ", ") + name;
  }
  if (!waiting.empty())
    text += wrapped_text(fmt::format("{:<15}", "waiting"), waiting, kIndent, columns);
  return text;
}

// Replaces the lines that are redrawn by `lasting`, which stays, and `live`.
void StepDisplay::draw(const std::string& lasting, const std::string& live, size_t columns) {
  if (finished_ || log_level() < LogLevel::kInfo) return;
  std::string text = drawn_rows_ > 0 ? fmt::format("\033[{}A\r\033[J", drawn_rows_) : "";
  text += lasting + live;
  drawn_ = live;
  drawn_rows_ = live.empty() ? 0 : rows_of(live, columns);
  (void)!::write(2, text.data(), text.size());
}

void StepDisplay::redraw() {
  if (!terminal_) return;
  const size_t columns = columns_or_usual();
  const std::string live = live_text(columns);
  if (live != drawn_) draw("", live, columns);
}

void StepDisplay::finish() {
  if (finished_) return;
  if (terminal_) draw("", "", columns_or_usual());
  finished_ = true;
}

std::string without_label(const std::string& step, const std::string& line) {
  const std::string label = fmt::format("{:<11} ", step);
  return line.starts_with(label) ? std::string(trim(line.substr(label.size()))) : line;
}

bool says_what_is_done(const std::string& step, const std::string& line) {
  constexpr size_t kLabel = 11;
  const std::string word = line.substr(0, line.find(' ')), rest = line.substr(word.size());
  if (word.starts_with("***") || trim(rest).starts_with("= ")) return false;
  const bool is_label = rest.starts_with("  ") || (word.size() == kLabel && !rest.empty());
  return !is_label || word == step || word.ends_with("ing");
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
