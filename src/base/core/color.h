// Decides whether text for people has colours.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace hone {

enum class ColorUse { automatic, always, never };
// Sets the use of colours for this process. It is `automatic` at start.
void use_color(ColorUse use);
// The words of the flag --color in the order of ColorUse: "auto", "always", "never".
const std::vector<std::string>& color_words();
inline constexpr std::string_view kColorHelp = "colours in texts for people; auto: on a terminal";

// Returns true if text written to this file descriptor has colours. With ColorUse::automatic: $NO_COLOR forbids
// colours, else $CLICOLOR_FORCE (not empty, not 0) demands them, else a terminal has colours unless $CLICOLOR is 0
// or $TERM is dumb (https://no-color.org, https://bixense.com/clicolors).
bool has_color(int descriptor);

}  // namespace hone
