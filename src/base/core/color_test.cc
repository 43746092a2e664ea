#include "base/core/color.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace hone {
namespace {

// Colours in texts to a file, with these variables.
bool has_color_with(const char* no_color, const char* force) {
  setenv("NO_COLOR", no_color, 1);
  setenv("CLICOLOR_FORCE", force, 1);
  int ends[2];
  EXPECT_EQ(pipe(ends), 0);
  const bool is = has_color(ends[1]);
  close(ends[0]);
  close(ends[1]);
  unsetenv("NO_COLOR");
  unsetenv("CLICOLOR_FORCE");
  return is;
}

TEST(Color, VariablesAndTheFlagDecide) {
  EXPECT_FALSE(has_color_with("", ""));
  EXPECT_TRUE(has_color_with("", "1"));
  EXPECT_FALSE(has_color_with("", "0"));
  EXPECT_FALSE(has_color_with("1", "1"));
  use_color(ColorUse::always);
  EXPECT_TRUE(has_color_with("1", ""));
  use_color(ColorUse::never);
  EXPECT_FALSE(has_color_with("", "1"));
  use_color(ColorUse::automatic);
  EXPECT_FALSE(has_color_with("", ""));
}

}  // namespace
}  // namespace hone
