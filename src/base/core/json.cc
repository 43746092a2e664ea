#include "base/core/json.h"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <type_traits>

#include "base/core/errors.h"
#include "base/core/json_members.h"
#include "base/core/text.h"

namespace hone {
namespace {

template <class J>
using Members = std::conditional_t<std::is_same_v<J, OrderedJson>, OrderedMembers<J>, J&>;

constexpr const char* kEmptyText = "the text is empty";

// Recursive descent over the text; the first failure is kept in fault_ and unwinds as false.
template <class J>
class Parser {
 public:
  Parser(std::string_view text, const JsonRules& rules)
      : text_(text), rules_(rules), places_(rules.places) {}

  std::optional<JsonFault> run(J& value) {
    if (text_.substr(0, 3) == "\xEF\xBB\xBF") at_ = 3;
    space();
    if (at_ >= text_.size()) {
      fault_.emplace(JsonFault{err::kJsonSyntax, kEmptyText, {}});
    } else if (parse(value, 0)) {
      space();
      if (at_ < text_.size()) fail("more text after the end of the value");
    }
    return std::move(fault_);
  }

 private:
  bool fail(std::string_view what) { return fail_with(err::kJsonSyntax, what, at_); }
  bool fail_with(ErrorCode code, std::string_view what, size_t where) {
    fault_.emplace(JsonFault{code, std::string(what), place(where)});
    return false;
  }
  TextPlace place(size_t where) {
    // Called in rising order when places are recorded, so the count continues from the last call.
    if (where < counted_) counted_ = line_start_ = 0, line_ = 1;
    for (; counted_ < where; ++counted_) {
      if (text_[counted_] == '\n') ++line_, line_start_ = counted_ + 1;
    }
    return {line_, static_cast<int64_t>(where - line_start_) + 1};
  }
  void space() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r')) {
      ++at_;
    }
  }
  char peek() const { return at_ < text_.size() ? text_[at_] : '\0'; }
  bool word(std::string_view w) {
    if (text_.substr(at_, w.size()) != w) return false;
    at_ += w.size();
    return true;
  }

  bool parse(J& out, int depth) {
    if (places_) places_->emplace(path_, place(at_));
    if (at_ >= text_.size()) return fail("the text ends where a value should be");
    switch (text_[at_]) {
      case '{':
        return object(out, depth);
      case '[':
        return array(out, depth);
      case '"': {
        std::string s;
        if (!string(s)) return false;
        out = std::move(s);
        return true;
      }
      case 't':
        if (word("true")) return out = true, true;
        break;
      case 'f':
        if (word("false")) return out = false, true;
        break;
      case 'n':
        if (word("null")) return out = nullptr, true;
        break;
      case 'N':
        if (!rules_.strict && word("NaN")) return out = std::nan(""), true;
        break;
      case 'I':
        if (!rules_.strict && word("Infinity")) return out = HUGE_VAL, true;
        break;
      default:
        return number(out);
    }
    return fail("a value (text in quotes, number, true, false, null, [, {) should be here");
  }

  bool object(J& out, int depth) {
    if (depth >= rules_.max_depth) return too_deep();
    out = J::object();
    Members<J> members(out);
    ++at_;
    space();
    if (peek() == '}') return ++at_, true;
    size_t path_size = path_.size();
    for (;;) {
      if (peek() != '"') return fail("a key in double quotes should be here");
      const size_t key_at = at_;
      std::string key;
      if (!string(key)) return false;
      if (rules_.unique_keys && members.contains(key))
        return fail_with(err::kJsonSyntax,
                         fmt::format("the key '{}' appears twice in one object", key), key_at);
      space();
      if (peek() != ':') return fail("':' should follow a key");
      ++at_;
      space();
      if (places_) path_ += "/" + key;
      if (!parse(members[key], depth + 1)) return false;
      path_.resize(path_size);
      space();
      char c = peek();
      if (c != ',' && c != '}') return fail("',' or '}' should follow a value");
      ++at_;
      if (c == '}') return true;
      space();
    }
  }

  bool array(J& out, int depth) {
    if (depth >= rules_.max_depth) return too_deep();
    out = J::array();
    ++at_;
    space();
    if (peek() == ']') return ++at_, true;
    size_t path_size = path_.size();
    for (size_t i = 0;; ++i) {
      if (places_) path_ += "/" + std::to_string(i);
      J element;
      if (!parse(element, depth + 1)) return false;
      out.push_back(std::move(element));
      path_.resize(path_size);
      space();
      char c = peek();
      if (c != ',' && c != ']') return fail("',' or ']' should follow a value");
      ++at_;
      if (c == ']') return true;
      space();
    }
  }

  bool too_deep() {
    return fail_with(err::kJsonDepth,
                     fmt::format("more than {} levels of nesting", rules_.max_depth), at_);
  }

  bool hex4(uint32_t& out) {
    if (text_.size() - at_ < 4) return fail("\\u needs four hexadecimal digits");
    auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + at_ + 4, out, 16);
    if (error != std::errc() || end != text_.data() + at_ + 4) {
      return fail("\\u needs four hexadecimal digits");
    }
    at_ += 4;
    return true;
  }

  bool string(std::string& out) {
    size_t begin = at_++;
    for (;;) {
      size_t run = at_;
      while (run < text_.size() && static_cast<unsigned char>(text_[run]) - 0x20u < 0x60u &&
             text_[run] != '"' && text_[run] != '\\') {
        ++run;
      }
      out.append(text_, at_, run - at_);
      at_ = run;
      if (at_ >= text_.size()) {
        return fail_with(err::kJsonSyntax, "this text has no closing '\"'", begin);
      }
      unsigned char c = static_cast<unsigned char>(text_[at_]);
      if (c == '"') return ++at_, true;
      if (c < 0x20) return fail("a control character in a text must be escaped");
      if (c != '\\') {
        int n = utf8_length(text_.substr(at_, 4));
        if (n == 0) return fail("bytes that are not UTF-8");
        out.append(text_, at_, n);
        at_ += n;
        continue;
      }
      ++at_;
      switch (peek()) {
        case '"':
          out += '"';
          break;
        case '\\':
          out += '\\';
          break;
        case '/':
          out += '/';
          break;
        case 'b':
          out += '\b';
          break;
        case 'f':
          out += '\f';
          break;
        case 'n':
          out += '\n';
          break;
        case 'r':
          out += '\r';
          break;
        case 't':
          out += '\t';
          break;
        case 'u': {
          ++at_;
          uint32_t code = 0;
          if (!hex4(code)) return false;
          if (code >= 0xD800 && code < 0xDC00 && text_.substr(at_, 2) == "\\u") {
            size_t back = at_;
            at_ += 2;
            uint32_t low = 0;
            if (!hex4(low)) return false;
            if (low >= 0xDC00 && low < 0xE000)
              code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
            else
              at_ = back;
          }
          const bool lone = code >= 0xD800 && code < 0xE000;
          if (lone && rules_.strict) return fail("half of a surrogate pair without the other");
          append_utf8(out, lone ? 0xFFFD : code);
          continue;
        }
        default:
          return fail("unknown escape after '\\'");
      }
      ++at_;
    }
  }

  bool number(J& out) {
    size_t begin = at_, p = at_;
    auto digit = [&](size_t i) { return i < text_.size() && text_[i] >= '0' && text_[i] <= '9'; };
    bool negative = text_[p] == '-';
    if (negative) ++p;
    if (negative && !rules_.strict && text_.substr(p, 8) == "Infinity") {
      at_ = p + 8;
      return out = -HUGE_VAL, true;
    }
    if (!digit(p))
      return fail("a value (text in quotes, number, true, false, null, [, {) should be here");
    if (text_[p] == '0' && digit(p + 1)) return fail("a number must not start with 0");
    while (digit(p)) ++p;
    bool integer = true;
    if (p < text_.size() && text_[p] == '.') {
      integer = false;
      if (!digit(++p)) return fail("a digit should follow the decimal point");
      while (digit(p)) ++p;
    }
    if (p < text_.size() && (text_[p] == 'e' || text_[p] == 'E')) {
      integer = false;
      ++p;
      if (p < text_.size() && (text_[p] == '+' || text_[p] == '-')) ++p;
      if (!digit(p)) return fail("a digit should follow in the exponent");
      while (digit(p)) ++p;
    }
    at_ = p;
    const char *first = text_.data() + begin, *last = text_.data() + p;
    if (integer) {
      int64_t i = 0;
      if (std::from_chars(first, last, i).ec == std::errc()) return out = i, true;
      uint64_t u = 0;
      if (std::from_chars(first, last, u).ec == std::errc()) return out = u, true;
    }
    double d = 0;
    if (std::from_chars(first, last, d).ec != std::errc()) {
      d = std::strtod(std::string(first, last).c_str(), nullptr);  // inf or 0, as Python
      if (rules_.strict && std::isinf(d))
        return fail_with(err::kJsonSyntax, "a number too large for a double", begin);
    }
    return out = d, true;
  }

  std::string_view text_;
  const JsonRules& rules_;
  JsonPlaces* places_;
  size_t at_ = 0;
  size_t counted_ = 0, line_start_ = 0;
  int64_t line_ = 1;
  std::string path_;
  std::optional<JsonFault> fault_;
};

template <class J>
Result<J> parse_as(std::string_view text, const std::string& name, JsonPlaces* places) {
  J value;
  const auto fault = parse_json(text, {.places = places}, value);
  if (!fault) return value;
  const bool empty = fault->what == kEmptyText;
  Error error(fault->code,
              fmt::format("{}:{}:{}: {}", name, fault->place.line, fault->place.column,
                          empty && name.ends_with(".json") ? "the file is empty" : fault->what));
  if (error.is(err::kJsonDepth)) return error;
  if (empty) return std::move(error.todo("write JSON there; if it is a copy, copy it again"));
  return std::move(error.todo("correct it there: a comma too many or too few is a frequent cause"));
}

void dump_string(std::string_view s, bool ascii, std::string& out) {
  out += '"';
  for (size_t i = 0; i < s.size();) {
    unsigned char c = static_cast<unsigned char>(s[i]);
    if (c >= 0x80) {
      int n = utf8_length(s.substr(i));
      std::string_view bytes = n == 0 ? "\xEF\xBF\xBD" : s.substr(i, n);
      i += n == 0 ? 1 : n;
      if (!ascii) {
        out += bytes;
        continue;
      }
      uint32_t code = static_cast<uint8_t>(bytes[0]) & (0xFF >> (bytes.size() + 1));
      for (size_t k = 1; k < bytes.size(); ++k) code = code << 6 | (bytes[k] & 0x3F);
      if (code >= 0x10000) {
        code -= 0x10000;
        out += fmt::format("\\u{:04x}\\u{:04x}", 0xD800 + (code >> 10), 0xDC00 + (code & 0x3FF));
      } else {
        out += fmt::format("\\u{:04x}", code);
      }
      continue;
    }
    ++i;
    switch (c) {
      case '"':
        out += "\\\"";
        break;
      case '\\':
        out += "\\\\";
        break;
      case '\n':
        out += "\\n";
        break;
      case '\r':
        out += "\\r";
        break;
      case '\t':
        out += "\\t";
        break;
      case '\b':
        out += "\\b";
        break;
      case '\f':
        out += "\\f";
        break;
      default:
        if (c < 0x20 || (c == 0x7F && ascii))
          out += fmt::format("\\u{:04x}", c);
        else
          out += static_cast<char>(c);
    }
  }
  out += '"';
}

template <class J>
void dump(const J& v, const JsonStyle& style, int level, std::string& out) {
  auto line_break = [&](int at) {
    if (style.indent >= 0) out += "\n" + std::string(static_cast<size_t>(at * style.indent), ' ');
  };
  const char* comma = style.indent >= 0 ? "," : ", ";
  if (v.is_object() || v.is_array()) {
    char open = v.is_object() ? '{' : '[', close = v.is_object() ? '}' : ']';
    out += open;
    bool first = true;
    for (auto it = v.begin(); it != v.end(); ++it) {
      if (!first) out += comma;
      first = false;
      line_break(level + 1);
      if (v.is_object()) {
        dump_string(it.key(), style.ascii, out);
        out += ": ";
      }
      dump(*it, style, level + 1, out);
    }
    if (!first) line_break(level);
    out += close;
  } else if (v.is_string()) {
    dump_string(v.template get_ref<const std::string&>(), style.ascii, out);
  } else if (v.is_number_float()) {
    out += double_text(v.template get<double>());
  } else {
    out += v.dump();
  }
}

}  // namespace

std::optional<JsonFault> parse_json(std::string_view text, const JsonRules& rules, Json& value) {
  return Parser<Json>(text, rules).run(value);
}
std::optional<JsonFault> parse_json(std::string_view text, const JsonRules& rules,
                                    OrderedJson& value) {
  return Parser<OrderedJson>(text, rules).run(value);
}
Result<Json> parse_json(std::string_view text, const std::string& name, JsonPlaces* places) {
  return parse_as<Json>(text, name, places);
}
Result<OrderedJson> parse_ordered_json(std::string_view text, const std::string& name) {
  return parse_as<OrderedJson>(text, name, nullptr);
}
Result<Json> read_json_file(const std::string& path, JsonPlaces* places) {
  std::string text = HONE_TRY(read_file(path));
  return parse_json(text, path, places);
}

std::string dump_json(const Json& value, JsonStyle style) {
  std::string out;
  dump(value, style, 0, out);
  return out;
}
std::string dump_json(const OrderedJson& value, JsonStyle style) {
  std::string out;
  dump(value, style, 0, out);
  return out;
}

std::string double_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  std::string s = fmt::format("{}", value);
  if (s.find_first_of(".e") == std::string::npos) s += ".0";
  return s;
}

}  // namespace hone
