// The pages of docs/errors, compiled into the program.
#pragma once

#include <string_view>
#include <vector>

namespace hone {

struct ErrorPage {
  std::string_view code;  // "H2406"
  std::string_view text;  // Markdown
};
const std::vector<ErrorPage>& error_pages();  // generated
// The text of a code's page; "": no error has it.
std::string_view error_page(std::string_view code);

}  // namespace hone
