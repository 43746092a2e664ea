#include "run/commands/screen.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>

#include "base/core/color.h"
#include "base/core/text.h"

namespace hone {

int screen_width() {
  const std::string columns = environment("COLUMNS");
  int width = 0;
  std::from_chars(columns.data(), columns.data() + columns.size(), width);
  winsize size{};
  if (width <= 0 && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0) width = size.ws_col;
  return width > 0 ? std::min(width, 120) : 80;
}

bool color_on_screen() { return has_color(STDOUT_FILENO); }

}  // namespace hone
