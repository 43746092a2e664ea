// Whether text for people has colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

enum class ColorUse { automatic, always, never };
// Holds for this process; automatic at start.
void use_color(ColorUse use);
const std::vector<std::string>& color_words();  // in the order of ColorUse
inline constexpr std::string_view kColorHelp = "colours in texts for people; auto: on a terminal";

// For text that is written there. Automatic: $NO_COLOR forbids colours, $CLICOLOR_FORCE demands them,
// else a terminal has them unless $CLICOLOR is 0 or $TERM is dumb (https://no-color.org,
// https://bixense.com/clicolors).
bool has_color(int descriptor);

}  // namespace hone
