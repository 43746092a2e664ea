#include "base/core/color.h"

#include <atomic>

#include "base/core/process.h"
#include "base/core/text.h"

namespace hone {
namespace {
std::atomic<ColorUse> color_use{ColorUse::automatic};
}  // namespace

void use_color(ColorUse use) { color_use = use; }

const std::vector<std::string>& color_words() {
  static const std::vector<std::string> words = {"auto", "always", "never"};
  return words;
}

bool has_color(int descriptor) {
  if (color_use != ColorUse::automatic) return color_use == ColorUse::always;
  if (!environment("NO_COLOR").empty()) return false;
  const std::string force = environment("CLICOLOR_FORCE");
  if (!force.empty() && force != "0") return true;
  return is_terminal(descriptor) && environment("CLICOLOR") != "0" && environment("TERM") != "dumb";
}

}  // namespace hone
