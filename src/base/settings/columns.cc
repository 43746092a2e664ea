#include "base/settings/columns.h"

#include "base/core/text.h"

namespace hone {

std::string wrapped(std::string_view text, size_t indent, size_t width) {
  std::string out;
  size_t column = indent;
  for (const std::string& word : split(text, ' ')) {
    if (column > indent && column + 1 + word.size() > width) {
      out += "\n" + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      out += ' ';
      ++column;
    }
    out += word;
    column += word.size();
  }
  return out;
}

std::string two_columns(const std::string& left, std::string_view text, size_t column,
                        size_t width) {
  const bool fits = left.size() + 2 <= column;
  return left + (fits ? "" : "\n") + std::string(fits ? column - left.size() : column, ' ') +
         wrapped(text, column, width) + "\n";
}

}  // namespace hone
