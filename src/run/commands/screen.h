// Facts about the terminal to which standard output goes.
#pragma once

namespace hone {

// The width in columns: the variable COLUMNS, else the width of the terminal, else 80; at most 120.
int screen_width();

// Returns true if text on standard output has colours (base/core/color.h).
bool color_on_screen();

}  // namespace hone
