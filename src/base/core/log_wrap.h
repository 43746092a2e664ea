// Breaks lines of the log, errors and reports so that they fit a terminal. Commands to copy (from "hone", "curl",
// "python3" or "make" to the end of the line), JSON and quoted texts are not broken.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

namespace hone {

// Breaks a line of the log, "word        text, text; text" with the text in column kTextColumn, into parts of at most
// `width` columns. A part ends after its last comma or semicolon if the part then fills at least half of `width`, else
// after the last word that fits. The parts after the first are indented to kTextColumn. A part without a place to break
// stays longer than `width`. Lines of another form (has_text_column() is false) are not changed.
std::string wrap_line(std::string_view line, size_t width);
// Breaks a sentence in the way of wrap_line(). The parts after the first begin in column 0. `width` 0: returns the text
// unchanged.
std::string wrap_text(std::string_view text, size_t width);
// Breaks Error::text() in the way of wrap_line(). The parts after the first are indented to the column of the message.
// A place (a line with "at") is broken only in the text after its first comma or semicolon. `width` 0: returns the text
// unchanged.
std::string wrap_error(std::string_view text, size_t width);
// Returns true if a line begins with a word and has a text in column kTextColumn, with only blanks between.
bool has_text_column(std::string_view line);
// The column of the text in a line of the log, counted from 0.
inline constexpr size_t kTextColumn = 12;
// Breaks each line of a report in the way of wrap_line(). Cells of a line are separated by two blanks: only the last
// cell is broken, and its later parts are indented to its column. A line without cells is a sentence, and its later
// parts are indented by two columns. `width` 0: returns the text unchanged.
std::string wrap_report(std::string_view text, size_t width);
// The columns of the terminal at a file descriptor; 0 if it is not a terminal or has at most 20 columns.
size_t terminal_columns(int fd = STDERR_FILENO);

}  // namespace hone
