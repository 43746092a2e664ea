// The files of pages/, compiled into the program.
#pragma once

#include <string_view>
#include <vector>

namespace hone {

struct WebPage {
  std::string_view name;  // "style.css"
  std::string_view text;
};
const std::vector<WebPage>& web_pages();  // generated

}  // namespace hone
