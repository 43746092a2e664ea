// The pages of docs/errors, compiled into the program.
#pragma once

#include <string_view>
#include <vector>

namespace hone {

struct ErrorPage {
  std::string_view code;  // "H2406"
  std::string_view text;  // Markdown
};
const std::vector<ErrorPage>& error_pages();  // the build generates this function
// The text of the page about an error code; "" if there is no such error.
std::string_view error_page(std::string_view code);

}  // namespace hone
