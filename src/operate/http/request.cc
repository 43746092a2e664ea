#include "operate/http/request.h"

#include <algorithm>

#include "base/core/json.h"

namespace hone {
namespace {

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::string_view header_of(const WebHeaders& headers, std::string_view name) {
  for (const auto& [key, value] : headers)
    if (key == name) return value;
  return {};
}

bool has_control_character(std::string_view text) {
  return std::any_of(text.begin(), text.end(),
                     [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; });
}

WebAnswer web_error(int status, const std::string& text) {
  return {status, dump_json(Json{{"error", text}}) + "\n"};
}

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string out;
  out.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return {};
      const int high = hex_digit(text[i + 1]), low = hex_digit(text[i + 2]);
      if (high < 0 || low < 0) return {};
      out += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      out += plus_is_space && text[i] == '+' ? ' ' : text[i];
    }
  }
  return out;
}

std::optional<std::vector<std::string>> path_parts(std::string_view path) {
  std::vector<std::string> parts;
  if (path.empty() || path[0] != '/') return {};
  path.remove_prefix(1);
  while (!path.empty()) {
    const size_t slash = path.find('/');
    std::optional<std::string> part = percent_decoded(path.substr(0, slash), false);
    if (!part || part->empty() || *part == "." || *part == ".." ||
        part->find('/') != std::string::npos || has_control_character(*part))
      return {};
    parts.push_back(std::move(*part));
    path = slash == std::string_view::npos ? std::string_view() : path.substr(slash + 1);
  }
  return parts;
}

}  // namespace hone
