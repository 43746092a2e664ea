// The terminal of standard output.
#pragma once

namespace hone {

// Columns: $COLUMNS, else those of the terminal, else 80; at most 120.
int screen_width();

// True when standard output is a terminal, $NO_COLOR is unset or empty, and $TERM is not dumb.
bool color_on_screen();

}  // namespace hone
