// Lines of the log and errors that fit a terminal. A command to copy, JSON and what is in quotes are not broken.
#pragma once

#include <unistd.h>

#include <string>
#include <string_view>

namespace hone {

// Breaks a line of the form "word        text, text; text": after a comma or a semicolon if that fills half a
// row, else between words, so that no part has more columns than `width` if the texts allow it. Later parts
// begin below the text. Lines of another form stay as they are.
std::string wrap_line(std::string_view line, size_t width);
// The same for a whole sentence, from the first column on. `width` 0: there is no terminal.
std::string wrap_text(std::string_view text, size_t width);
// The same for Error::text(), whose places stay as they are. `width` 0: there is no terminal.
std::string wrap_error(std::string_view text, size_t width);
// Whether a line has a word and, from column kTextColumn on, a text.
bool has_text_column(std::string_view line);
inline constexpr size_t kTextColumn = 12;
// The same for a report: parts of a line begin below its last cell, which two blanks set apart, and those of a
// sentence two columns further in. `width` 0: there is no terminal.
std::string wrap_report(std::string_view text, size_t width);
// Columns of the terminal at a descriptor, standard error unless given; 0: it is none.
size_t terminal_columns(int fd = STDERR_FILENO);

}  // namespace hone
