#include "run/commands/error_pages.h"

namespace hone {

std::string_view error_page(std::string_view code) {
  for (const ErrorPage& page : error_pages())
    if (page.code == code) return page.text;
  return {};
}

}  // namespace hone
