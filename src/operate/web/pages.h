// The files of the folder pages/ (the web pages of hone ui), which are compiled into the program.
#pragma once

#include <string_view>
#include <vector>

namespace hone {

struct WebPage {
  std::string_view name;  // "style.css"
  std::string_view text;  // content of the file
};
const std::vector<WebPage>& web_pages();  // defined in a file that the build generates

}  // namespace hone
