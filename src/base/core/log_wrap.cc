#include "base/core/log_wrap.h"

#include <algorithm>
#include <vector>

#include "base/core/characters.h"

namespace hone {
namespace {

size_t columns_of(std::string_view text) { return static_cast<size_t>(count_characters(text)); }

// Where a command begins that may be copied; the end of the line if there is none.
size_t begin_of_command(std::string_view line) {
  size_t begin = line.size();
  for (const std::string_view program : {" hone ", " curl ", " python3 ", " make "})
    if (const size_t at = line.find(program); at != line.npos) begin = std::min(begin, at + 1);
  return begin;
}

// The blanks at which a line may be broken: in its text, outside of quotes, before any command.
std::vector<size_t> blanks_of(std::string_view line) {
  std::vector<size_t> blanks;
  bool quoted = false;
  const size_t end = begin_of_command(line);
  for (size_t i = kTextColumn; i < end; ++i) {
    // A quote opens after a blank or a bracket; elsewhere it is an apostrophe, or closes.
    if (line[i] == '\'') quoted = !quoted && (line[i - 1] == ' ' || line[i - 1] == '(');
    if (line[i] == ' ' && !quoted && i > kTextColumn) blanks.push_back(i);
  }
  return blanks;
}

bool follows_comma(std::string_view line, size_t blank) {
  return line[blank - 1] == ',' || line[blank - 1] == ';';
}

}  // namespace

bool has_text_column(std::string_view line) {
  const size_t word = line.find("  ");
  return word < kTextColumn - 1 && line.size() > kTextColumn && line[kTextColumn - 1] == ' ' &&
         line.find_first_not_of(' ', word) == kTextColumn;
}

std::string wrap_line(std::string_view line, size_t width) {
  if (columns_of(line) <= width || !has_text_column(line) ||
      line.find_first_of("\"{\n") != line.npos)
    return std::string(line);
  const std::vector<size_t> blanks = blanks_of(line);
  std::string out;
  size_t begin = 0, indent = 0;  // of the part that is not written yet
  while (indent + columns_of(line.substr(begin)) > width) {
    size_t at_comma = 0, at_blank = 0;
    for (const size_t blank : blanks) {
      if (blank <= begin) continue;
      const bool fits = indent + columns_of(line.substr(begin, blank - begin)) <= width;
      if (!fits && at_blank > 0) break;
      at_blank = blank;
      if (follows_comma(line, blank)) at_comma = blank;
      if (!fits) break;
    }
    if (at_blank == 0) break;
    // The rest of a line after a comma is ragged by at most half.
    const size_t used = indent + columns_of(line.substr(begin, std::max(begin, at_comma) - begin));
    const size_t end = at_comma > 0 && used * 2 >= width ? at_comma : at_blank;
    out += line.substr(begin, end - begin);
    out += '\n';
    out.append(kTextColumn, ' ');
    begin = end + 1;
    indent = kTextColumn;
  }
  return out += line.substr(begin);
}

}  // namespace hone
