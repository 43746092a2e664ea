#include "base/core/log_wrap.h"

#include <algorithm>

#include "base/core/characters.h"

namespace hone {
namespace {

size_t columns_of(std::string_view text) { return static_cast<size_t>(count_characters(text)); }

bool may_be_copied(std::string_view line) {
  return line.find_first_of("\"'{\n") != line.npos || line.find(" --") != line.npos;
}

}  // namespace

bool has_text_column(std::string_view line) {
  const size_t word = line.find("  ");
  return word < kTextColumn - 1 && line.size() > kTextColumn && line[kTextColumn - 1] == ' ' &&
         line.find_first_not_of(' ', word) == kTextColumn;
}

std::string wrap_line(std::string_view line, size_t width) {
  if (columns_of(line) <= width || !has_text_column(line) || may_be_copied(line))
    return std::string(line);
  std::string out;
  std::string_view rest = line;
  size_t indent = 0;
  while (indent + columns_of(rest) > width) {
    size_t end = 0;  // of the part, after its comma
    for (size_t i = indent == 0 ? kTextColumn : 0; i + 1 < rest.size(); ++i) {
      if ((rest[i] != ',' && rest[i] != ';') || rest[i + 1] != ' ') continue;
      if (end > 0 && indent + columns_of(rest.substr(0, i + 1)) > width) break;
      end = i + 1;
    }
    if (end == 0) break;
    out += rest.substr(0, end);
    out += '\n';
    out.append(kTextColumn, ' ');
    rest.remove_prefix(end + 1);
    indent = kTextColumn;
  }
  return out += rest;
}

}  // namespace hone
