// The terminal of standard output.
#pragma once

namespace hone {

// Columns: $COLUMNS, else those of the terminal, else 80; at most 120.
int screen_width();

// Whether standard output has colours (base/core/color.h).
bool color_on_screen();

}  // namespace hone
