// Lines of the log that fit a terminal.
#pragma once

#include <string>
#include <string_view>

namespace hone {

// Breaks a line of the form "word        text, text; text", after a comma or a semicolon if that fills half a
// row, else between words, so that no part has more columns than `width` if the texts allow it. Later parts
// begin below the text. A command to copy and what is in quotes are not broken; lines with JSON and lines of
// another form stay as they are.
std::string wrap_line(std::string_view line, size_t width);
// Whether a line has a word and, from column kTextColumn on, a text.
bool has_text_column(std::string_view line);
inline constexpr size_t kTextColumn = 12;

}  // namespace hone
