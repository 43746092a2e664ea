#include "base/core/log_wrap.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <vector>

#include "base/core/characters.h"
#include "base/core/text.h"

namespace hone {
namespace {

constexpr size_t kErrorColumn = 7;  // "H0203  ", "  do   "

size_t columns_of(std::string_view text) { return static_cast<size_t>(count_characters(text)); }

// The place where a command begins that may be copied; the end of the line if there is none.
size_t begin_of_command(std::string_view line) {
  size_t begin = line.size();
  for (const std::string_view program : {" hone ", " curl ", " python3 ", " make "})
    if (const size_t at = line.find(program); at != line.npos) begin = std::min(begin, at + 1);
  return begin;
}

// The blanks at which a text from column `from` on may be broken: outside of quotes and of JSON, before any
// command.
std::vector<size_t> blanks_of(std::string_view line, size_t from) {
  std::vector<size_t> blanks;
  char quote = 0;
  int depth = 0;  // of brackets of JSON
  const size_t end = begin_of_command(line);
  for (size_t i = from; i < end; ++i) {
    const char c = line[i];
    // A quote opens after a blank or a bracket; elsewhere it is an apostrophe, or closes.
    if (quote != 0)
      quote = c == quote ? 0 : quote;
    else if ((c == '\'' || c == '"') && (i == from || line.find_first_of(" ([{", i - 1) == i - 1))
      quote = c;
    else if (c == '{' || c == '[')
      ++depth;
    else if (c == '}' || c == ']')
      --depth;
    const bool is_value = i > 0 && line[i - 1] == ':' && i > 1 && line[i - 2] == '"';  // of a key
    if (c == ' ' && quote == 0 && depth <= 0 && i > from && !is_value) blanks.push_back(i);
  }
  return blanks;
}

bool follows_comma(std::string_view line, size_t blank) {
  return line[blank - 1] == ',' || line[blank - 1] == ';';
}

// The parts of a line below one another, from column `indent` on. Its first `from` bytes are not broken.
std::string broken(std::string_view line, size_t from, size_t indent, size_t width) {
  const std::vector<size_t> blanks = blanks_of(line, from);
  std::string out;
  size_t begin = 0, used = 0;  // of the part that is not written yet, and the columns before it
  while (used + columns_of(line.substr(begin)) > width) {
    size_t at_comma = 0, at_blank = 0;
    for (const size_t blank : blanks) {
      if (blank <= begin) continue;
      const bool fits = used + columns_of(line.substr(begin, blank - begin)) <= width;
      if (!fits && at_blank > 0) break;
      at_blank = blank;
      if (follows_comma(line, blank)) at_comma = blank;
      if (!fits) break;
    }
    if (at_blank == 0) break;
    const bool fills_half =
        at_comma > 0 && (used + columns_of(line.substr(begin, at_comma - begin))) * 2 >= width;
    const size_t end = fills_half ? at_comma : at_blank;
    const size_t last = line.find_last_not_of(' ', end - 1);
    out += line.substr(begin, last + 1 - begin);
    out += '\n';
    out.append(indent, ' ');
    begin = end + 1;
    used = indent;
  }
  return out += line.substr(begin);
}

}  // namespace

bool has_text_column(std::string_view line) {
  const size_t word = line.find("  ");
  return word < kTextColumn - 1 && line.size() > kTextColumn && line[kTextColumn - 1] == ' ' &&
         line.find_first_not_of(' ', word) == kTextColumn;
}

std::string wrap_line(std::string_view line, size_t width) {
  if (columns_of(line) <= width || !has_text_column(line) || line.find('\n') != line.npos)
    return std::string(line);
  return broken(line, kTextColumn, kTextColumn, width);
}

std::string wrap_text(std::string_view text, size_t width) {
  return width == 0 ? std::string(text) : broken(text, 0, 0, width);
}

std::string wrap_error(std::string_view text, size_t width) {
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (!out.empty()) out += '\n';
    // A place stays whole, up to a comma or a semicolon: a sentence follows.
    const size_t from =
        line.starts_with("  at   ") ? std::min(line.find(", "), line.find("; ")) : kErrorColumn;
    out += width > 0 && from < line.size() ? broken(line, from, kErrorColumn, width) : line;
  }
  return out;
}

std::string wrap_report(std::string_view text, size_t width) {
  if (width == 0) return std::string(text);
  std::string out;
  for (const std::string& line : split(text, '\n')) {
    if (!out.empty()) out += '\n';
    const size_t begin = std::min(line.find_first_not_of(' '), line.size());
    size_t cell = line.rfind("  ");  // the last cell begins after it
    cell = cell == line.npos || cell < begin ? begin : cell + 2;
    const size_t indent = cell == begin ? begin + 2 : columns_of(line.substr(0, cell));
    out += broken(line, cell, indent, width);
  }
  return out;
}

size_t terminal_columns(int fd) {
  winsize size{};
  return ::ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 20 ? size.ws_col : 0;
}

}  // namespace hone
