// Whether text for people has colours.
#pragma once

namespace hone {

enum class ColorUse { automatic, always, never };
// Holds for this process; automatic at start.
void use_color(ColorUse use);

// For text that is written there. Automatic: $NO_COLOR forbids colours, $CLICOLOR_FORCE demands them,
// else a terminal has them unless $CLICOLOR is 0 or $TERM is dumb (https://no-color.org,
// https://bixense.com/clicolors).
bool has_color(int descriptor);

}  // namespace hone
