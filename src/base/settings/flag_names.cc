#include "base/settings/flag_names.h"

namespace hone {

std::string with_flags(const Schema& schema, std::string_view text) {
  std::string out;
  size_t at = 0;
  for (size_t open; (open = text.find('`', at)) != std::string_view::npos;) {
    const size_t close = text.find('`', open + 1);
    if (close == std::string_view::npos) break;
    const std::string_view name = text.substr(open + 1, close - open - 1);
    const bool flag = has_setting(schema, name);
    out += text.substr(at, open - at);
    out += flag ? fmt::format("--{}", name) : fmt::format("`{}`", name);
    at = close + 1;
  }
  return out += text.substr(at);
}

Error with_flags(const Schema& schema, const Error& error) {
  Error out(error.error_code(), with_flags(schema, error.what()));
  for (const std::string& where : error.where()) out.at(with_flags(schema, where));
  if (!error.remedy().empty()) out.todo(with_flags(schema, error.remedy()));
  return out;
}

}  // namespace hone
