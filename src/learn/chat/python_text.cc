#include "learn/chat/python_text.h"

#include <algorithm>

#include "base/core/characters.h"

namespace hone::chat {
namespace {

// Calls take(code, bytes) for each character.
template <class F>
void each_char(std::string_view text, F take) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Char c = decode_char(p, end);
    take(c.code, std::string_view(p, static_cast<size_t>(c.length)));
    p += c.length;
  }
}

bool in_set(uint32_t code, std::string_view bytes, const std::optional<std::string_view>& chars) {
  return chars ? chars->find(bytes) != std::string_view::npos : is_space(code);
}

std::string upper_char(uint32_t code, std::string_view bytes) {
  if (code == kInvalidChar) return std::string(bytes);
  std::string out;
  append_upper_char(code, out);
  return out;
}

// "ß" begins a word as "Ss".
std::string title_char(uint32_t code, std::string_view bytes) {
  const std::string all = upper_char(code, bytes);
  const size_t first = static_cast<size_t>(decode_char(all.data(), all.data() + all.size()).length);
  return all.substr(0, first) + lower(all.substr(first));
}

bool is_line_end(uint32_t c) {
  return (c >= 0x0a && c <= 0x0d) || (c >= 0x1c && c <= 0x1e) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

bool is_space(uint32_t code) {
  return code < 0x80 ? code == ' ' || (code >= 9 && code <= 13) || (code >= 0x1c && code <= 0x1f)
                     : (class_of(char_classes(), code) & kSpace) != 0;
}

int64_t length_of(std::string_view text) { return count_characters(text); }

size_t byte_of(std::string_view text, int64_t at) {
  size_t i = 0;
  for (; at > 0 && i < text.size(); --at)
    for (++i; i < text.size() && (text[i] & 0xc0) == 0x80;) ++i;
  return i;
}

int64_t Bounds::count() const {
  if (step > 0) return to > from ? (to - from - 1) / step + 1 : 0;
  return from > to ? (from - to - 1) / -step + 1 : 0;
}

Bounds bounds_of(std::optional<int64_t> from, std::optional<int64_t> to, int64_t step,
                 int64_t length) {
  step = std::max(step, -INT64_MAX);
  const int64_t low = step < 0 ? -1 : 0, high = step < 0 ? length - 1 : length;
  const auto bound = [&](std::optional<int64_t> b, int64_t absent) {
    if (!b) return absent;
    if (*b < 0) return std::max(low, *b < -length ? low : *b + length);
    return std::min(*b, high);
  };
  return {bound(from, step < 0 ? high : low), bound(to, step < 0 ? low : high), step};
}

std::string slice_text(std::string_view text, int64_t from, int64_t to, int64_t step) {
  const Bounds b{from, to, step};
  if (b.count() == 0) return "";
  if (step == 1) {
    const size_t begin = byte_of(text, from);
    return std::string(text.substr(begin, byte_of(text.substr(begin), to - from)));
  }
  std::vector<size_t> starts;
  for (size_t i = 0; i < text.size(); ++i)
    if ((text[i] & 0xc0) != 0x80) starts.push_back(i);
  starts.push_back(text.size());
  std::string out;
  for (int64_t n = b.count(), i = from; n > 0; --n, i += n > 0 ? step : 0) {
    const auto at = static_cast<size_t>(i);
    out += text.substr(starts[at], starts[at + 1] - starts[at]);
  }
  return out;
}

std::string_view strip_left(std::string_view text, std::optional<std::string_view> chars) {
  while (!text.empty()) {
    const Char c = decode_char(text.data(), text.data() + text.size());
    const auto n = static_cast<size_t>(c.length);
    if (!in_set(c.code, text.substr(0, n), chars)) break;
    text.remove_prefix(n);
  }
  return text;
}

std::string_view strip_right(std::string_view text, std::optional<std::string_view> chars) {
  while (!text.empty()) {
    const Char c = decode_last_char(text.data(), text.data() + text.size());
    const auto n = static_cast<size_t>(c.length);
    if (!in_set(c.code, text.substr(text.size() - n), chars)) break;
    text.remove_suffix(n);
  }
  return text;
}

std::vector<std::string_view> split_text(std::string_view text,
                                         std::optional<std::string_view> separator, int64_t most,
                                         bool from_right) {
  std::vector<std::string_view> parts;
  const auto left = [&] { return most < 0 || static_cast<int64_t>(parts.size()) < most; };
  if (separator) {
    while (left()) {
      const size_t at = from_right ? text.rfind(*separator) : text.find(*separator);
      if (at == std::string_view::npos) break;
      parts.push_back(from_right ? text.substr(at + separator->size()) : text.substr(0, at));
      text = from_right ? text.substr(0, at) : text.substr(at + separator->size());
    }
    parts.push_back(text);
  } else {
    text = from_right ? strip_right(text) : strip_left(text);
    while (!text.empty() && left()) {
      size_t begin = 0, end = 0;  // of the word
      if (from_right) {
        for (begin = end = text.size(); begin > 0;) {
          const Char c = decode_last_char(text.data(), text.data() + begin);
          if (is_space(c.code)) break;
          begin -= static_cast<size_t>(c.length);
        }
      } else {
        while (end < text.size()) {
          const Char c = decode_char(text.data() + end, text.data() + text.size());
          if (is_space(c.code)) break;
          end += static_cast<size_t>(c.length);
        }
      }
      parts.push_back(text.substr(begin, end - begin));
      text = from_right ? strip_right(text.substr(0, begin)) : strip_left(text.substr(end));
    }
    if (!text.empty()) parts.push_back(text);
  }
  if (from_right) std::reverse(parts.begin(), parts.end());
  return parts;
}

std::vector<std::string_view> split_lines(std::string_view text, bool keep_ends) {
  std::vector<std::string_view> lines;
  size_t begin = 0;
  for (size_t i = 0; i < text.size();) {
    const Char c = decode_char(text.data() + i, text.data() + text.size());
    size_t end = i + static_cast<size_t>(c.length);
    if (is_line_end(c.code)) {
      if (c.code == '\r' && end < text.size() && text[end] == '\n') ++end;
      lines.push_back(text.substr(begin, (keep_ends ? end : i) - begin));
      begin = end;
    }
    i = end;
  }
  if (begin < text.size()) lines.push_back(text.substr(begin));
  return lines;
}

std::string replace_text(std::string_view text, std::string_view old, std::string_view fresh,
                         int64_t most) {
  std::string out;
  size_t from = 0;
  if (old.empty()) {  // before each character and at the end
    for (; most != 0; --most) {
      out += fresh;
      if (from >= text.size()) return out;
      const size_t next = from + byte_of(text.substr(from), 1);
      out += text.substr(from, next - from);
      from = next;
    }
    return out += text.substr(from);
  }
  for (; most != 0; --most) {
    const size_t at = text.find(old, from);
    if (at == std::string_view::npos) break;
    out += text.substr(from, at - from);
    out += fresh;
    from = at + old.size();
  }
  return out += text.substr(from);
}

std::string upper(std::string_view text) {
  std::string out;
  each_char(text, [&](uint32_t c, std::string_view bytes) { out += upper_char(c, bytes); });
  return out;
}

std::string lower(std::string_view text) {
  std::string out;
  append_lowercase(text, out);
  return out;
}

std::string capitalize(std::string_view text) {
  if (text.empty()) return "";
  const Char c = decode_char(text.data(), text.data() + text.size());
  const auto n = static_cast<size_t>(c.length);
  return title_char(c.code, text.substr(0, n)) + lower(text.substr(n));
}

std::string title(std::string_view text) {
  std::string out;
  bool in_word = false;
  each_char(text, [&](uint32_t c, std::string_view bytes) {
    const bool letter = (class_of(char_classes(), c) & kLetter) != 0;
    out += in_word ? lower(bytes) : title_char(c, bytes);
    in_word = letter;
  });
  return out;
}

std::string filter_title(std::string_view text) {
  std::string out;
  bool in_word = false;
  each_char(text, [&](uint32_t c, std::string_view bytes) {
    const bool ends = is_space(c) || (c < 0x80 && std::string_view("-({[<").find(bytes[0]) !=
                                                      std::string_view::npos);
    out += in_word ? lower(bytes) : upper_char(c, bytes);
    in_word = !ends;
  });
  return out;
}

bool is_upper(std::string_view text) { return upper(text) == text && lower(text) != text; }
bool is_lower(std::string_view text) { return lower(text) == text && upper(text) != text; }

bool all_of_class(std::string_view text, uint8_t classes) {
  bool all = !text.empty();
  each_char(text, [&](uint32_t c, std::string_view) {
    const uint8_t own = is_space(c) ? static_cast<uint8_t>(kSpace) : class_of(char_classes(), c);
    all = all && (own & classes) != 0;
  });
  return all;
}

std::string repr_text(std::string_view text) {
  const bool both = text.find('\'') != std::string_view::npos;
  const char quote = both && text.find('"') == std::string_view::npos ? '"' : '\'';
  std::string out(1, quote);
  each_char(text, [&](uint32_t c, std::string_view bytes) {
    if (c == static_cast<uint32_t>(quote) || c == '\\')
      (out += '\\') += static_cast<char>(c);
    else if (c == '\n' || c == '\r' || c == '\t')
      out += c == '\n' ? "\\n" : c == '\r' ? "\\r" : "\\t";
    else if (c == kInvalidChar || is_printable_char(c))
      out += bytes;
    else if (c < 0x100)
      out += fmt::format("\\x{:02x}", c);
    else
      out += c < 0x10000 ? fmt::format("\\u{:04x}", c) : fmt::format("\\U{:08x}", c);
  });
  return out += quote;
}

}  // namespace hone::chat
