#include "learn/metrics/characters.h"

#include "base/unicode/unicode.h"

namespace hone {

bool is_python_space(uint32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x1F);
  return c == 0x85 || c == 0xA0 || c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 ||
         c == 0x2029 || c == 0x202F || c == 0x205F || c == 0x3000;
}

std::string_view strip_right(std::string_view text) {
  while (!text.empty()) {
    const Char c = decode_last_char(text.data(), text.data() + text.size());
    if (!is_python_space(c.code)) break;
    text.remove_suffix(static_cast<size_t>(c.length));
  }
  return text;
}

std::string_view strip(std::string_view text) {
  text = strip_right(text);
  while (!text.empty()) {
    const Char c = decode_char(text.data(), text.data() + text.size());
    if (!is_python_space(c.code)) break;
    text.remove_prefix(static_cast<size_t>(c.length));
  }
  return text;
}

void split_words(std::string_view text, std::vector<std::string_view>& words) {
  words.clear();
  const char *p = text.data(), *end = p + text.size(), *begin = p;
  while (p < end) {
    const Char c = decode_char(p, end);
    if (is_python_space(c.code)) {
      if (p > begin) words.emplace_back(begin, p);
      begin = p + c.length;
    }
    p += c.length;
  }
  if (p > begin) words.emplace_back(begin, p);
}

}  // namespace hone
