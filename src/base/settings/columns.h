// Lays out text for a terminal. A byte counts as a column.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// Breaks `text` between words into lines that end before column `width`. The first line is assumed to start in column
// `indent`, and gets no blanks; the others begin with `indent` blanks. No line break at the end.
std::string wrapped(std::string_view text, size_t indent, size_t width);

// `left`, then `text` wrapped from `column` to `width`, and a line break. If `left` is too wide, `text` begins on the
// next line.
std::string two_columns(const std::string& left, std::string_view text, size_t column,
                        size_t width);

}  // namespace hone
