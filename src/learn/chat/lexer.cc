#include "learn/chat/lexer.h"

#include <charconv>

#include "base/core/text.h"
#include "learn/chat/errors.h"
#include "learn/chat/python_text.h"

namespace hone::chat {
namespace {

// As Jinja reads lines: \r\n and \r are \n, one at the end is left out.
std::string with_plain_lines(std::string_view source) {
  std::string out;
  out.reserve(source.size());
  for (size_t i = 0; i < source.size(); ++i) {
    if (source[i] == '\r') {
      out += '\n';
      if (i + 1 < source.size() && source[i + 1] == '\n') ++i;
    } else {
      out += source[i];
    }
  }
  if (out.ends_with('\n')) out.pop_back();
  return lossy_utf8(out);
}

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_name_char(char c) {
  return is_digit(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' ||
         (c & 0x80) != 0;
}

class Lexer {
 public:
  explicit Lexer(std::string source) : source_(std::move(source)) {}

  Result<std::vector<Token>> run() {
    while (at_ < source_.size()) HONE_TRY(read_data());
    add(TokenKind::end);
    return std::move(tokens_);
  }

 private:
  std::string_view rest() const { return std::string_view(source_).substr(at_); }
  bool ahead(std::string_view text) const { return rest().starts_with(text); }
  void add(TokenKind kind, std::string text = "") {
    tokens_.push_back({kind, line_, std::move(text)});
  }
  void move_to(size_t to) {
    for (; at_ < to; ++at_) line_ += source_[at_] == '\n';
  }
  size_t after_space(size_t at) const {
    return source_.size() - strip_left(std::string_view(source_).substr(at)).size();
  }
  bool line_starts() const { return at_ == 0 || source_[at_ - 1] == '\n'; }

  // `text` before a tag with that sign: '-' takes its whitespace, else a block the indentation.
  static std::string_view before_tag(std::string_view text, char sign, bool block,
                                     bool line_starts) {
    if (sign == '-') return strip_right(text);
    if (sign == '+' || !block) return text;
    const size_t line = text.rfind('\n') + 1;
    if (line == 0 && !line_starts) return text;
    return strip_left(text.substr(line)).empty() ? text.substr(0, line) : text;
  }

  void add_data(std::string_view text) {
    if (!text.empty()) add(TokenKind::data, std::string(text));
  }

  // Text up to the next tag, and the tag.
  Status read_data() {
    size_t tag = at_;
    for (;; ++tag) {
      tag = source_.find('{', tag);
      if (tag == std::string::npos || tag + 1 >= source_.size()) {
        add_data(rest());
        move_to(source_.size());
        return Ok{};
      }
      const char c = source_[tag + 1];
      if (c == '%' || c == '{' || c == '#') break;
    }
    const char kind = source_[tag + 1];
    size_t after = tag + 2;
    const char next = after < source_.size() ? source_[after] : '\0';
    const char sign = next == '-' || next == '+' ? next : '\0';
    if (sign) ++after;
    add_data(before_tag(rest().substr(0, tag - at_), sign, kind != '{', line_starts()));
    move_to(tag);
    if (kind == '#') return skip_comment(after);
    if (kind == '%')
      if (const size_t end = raw_end(after, "raw"); end != 0) return read_raw(end);
    add(kind == '%' ? TokenKind::block_begin : TokenKind::variable_begin);
    move_to(after);
    return read_tag(kind == '%');
  }

  Status skip_comment(size_t from) {
    const size_t end = source_.find("#}", from);
    if (end == std::string::npos) return bad_template("a comment has no end", line_);
    const char sign = end > from ? source_[end - 1] : '\0';
    move_to(tag_end(end + 2, sign, true));
    return Ok{};
  }

  // The end of a tag with what belongs to it: whitespace after '-', a line break of blocks.
  size_t tag_end(size_t at, char sign, bool block) const {
    if (sign == '-') return after_space(at);
    return block && sign != '+' && at < source_.size() && source_[at] == '\n' ? at + 1 : at;
  }

  // The place after "raw %}" where that is at `at`, else 0.
  size_t raw_end(size_t at, std::string_view word) const {
    at = after_space(at);
    if (std::string_view(source_).substr(at, word.size()) != word) return 0;
    at = after_space(at + word.size());
    const std::string_view left = std::string_view(source_).substr(at);
    const bool begins = word == "raw";
    if (left.starts_with("%}")) return begins ? at + 2 : tag_end(at + 2, '\0', true);
    if (left.starts_with("-%}")) return after_space(at + 3);
    return !begins && left.starts_with("+%}") ? at + 3 : 0;
  }

  Status read_raw(size_t from) {
    const int line = line_;
    move_to(from);
    for (size_t tag = from;; ++tag) {
      tag = source_.find("{%", tag);
      if (tag == std::string::npos) return bad_template("a raw block has no end", line);
      size_t after = tag + 2;
      const char next = after < source_.size() ? source_[after] : '\0';
      const char sign = next == '-' || next == '+' ? next : '\0';
      const size_t end = raw_end(after + (sign ? 1 : 0), "endraw");
      if (end == 0) continue;
      add_data(before_tag(rest().substr(0, tag - at_), sign, true, line_starts()));
      move_to(end);
      return Ok{};
    }
  }

  // The tokens of a tag and its end.
  Status read_tag(bool block) {
    const std::string_view close = block ? "%}" : "}}";
    std::string open;  // the open brackets
    while (true) {
      move_to(after_space(at_));
      if (at_ >= source_.size())
        return bad_template(fmt::format("a tag has no '{}'", close), line_);
      if (open.empty()) {
        const char c = source_[at_];
        const char sign = c == '-' || (c == '+' && block) ? c : '\0';
        if (rest().substr(sign ? 1 : 0).starts_with(close)) {
          add(block ? TokenKind::block_end : TokenKind::variable_end);
          move_to(tag_end(at_ + (sign ? 3 : 2), sign, block));
          return Ok{};
        }
      }
      HONE_TRY(read_token(open));
    }
  }

  Status read_token(std::string& open) {
    const char c = source_[at_];
    if (is_digit(c)) return read_number();
    if (is_name_char(c)) {
      size_t end = at_;
      while (end < source_.size() && is_name_char(source_[end])) ++end;
      add(TokenKind::name, source_.substr(at_, end - at_));
      move_to(end);
      return Ok{};
    }
    if (c == '"' || c == '\'') return read_text(c);
    for (const std::string_view op : {"//", "**", "==", "!=", ">=", "<="})
      if (ahead(op)) return read_operator(op);
    constexpr std::string_view kOperators = "+-/*%~[](){}><=.:|,;";
    const size_t known = kOperators.find(c);
    if (known == std::string_view::npos)
      return bad_template(fmt::format("'{}' has no meaning in a tag", c), line_);
    if (const size_t i = std::string_view("([{").find(c); i != std::string_view::npos) {
      open += ")]}"[i];
    } else if (c == ')' || c == ']' || c == '}') {
      if (open.empty() || open.back() != c)
        return bad_template(fmt::format("'{}' closes nothing", c), line_);
      open.pop_back();
    }
    return read_operator(kOperators.substr(known, 1));
  }

  Status read_operator(std::string_view op) {
    add(TokenKind::op, std::string(op));
    at_ += op.size();
    return Ok{};
  }

  Status read_number() {
    std::string digits;
    size_t end = at_;
    bool real = false;
    const auto run = [&] {
      while (end < source_.size() && (is_digit(source_[end]) || source_[end] == '_')) {
        if (source_[end] != '_') digits += source_[end];
        ++end;
      }
    };
    const auto digit_at = [&](size_t i) { return i < source_.size() && is_digit(source_[i]); };
    int base = 10;
    if (source_[at_] == '0' && at_ + 1 < source_.size()) {
      const char mark = static_cast<char>(source_[at_ + 1] | 0x20);
      base = mark == 'x' ? 16 : mark == 'o' ? 8 : mark == 'b' ? 2 : 10;
    }
    if (base != 10) {
      for (end = at_ + 2; end < source_.size() && is_name_char(source_[end]); ++end)
        if (source_[end] != '_') digits += source_[end];
    } else {
      run();
      if (end < source_.size() && source_[end] == '.' && digit_at(end + 1)) {
        real = true;
        digits += source_[end++];
        run();
      }
      if (end < source_.size() && (source_[end] | 0x20) == 'e') {
        const size_t sign =
            end + 1 < source_.size() && (source_[end + 1] == '-' || source_[end + 1] == '+');
        if (digit_at(end + 1 + sign)) {
          real = true;
          digits += "e";
          if (source_[end + sign] == '-') digits += '-';
          end += 1 + sign;
          run();
        }
      }
    }
    add(real ? TokenKind::real : TokenKind::integer);
    Token& t = tokens_.back();
    const char *from = digits.data(), *to = from + digits.size();
    const auto read =
        real ? std::from_chars(from, to, t.real) : std::from_chars(from, to, t.integer, base);
    if (read.ec != std::errc() || read.ptr != to)
      return bad_template(
          fmt::format("the number {} cannot be held", source_.substr(at_, end - at_)), line_);
    move_to(end);
    return Ok{};
  }

  // With the escapes of Python's texts.
  Status read_text(char quote) {
    size_t i = at_ + 1;
    std::string out;
    const auto code = [&](size_t digits, int base) -> bool {
      uint32_t value = 0;
      const std::string_view text = std::string_view(source_).substr(i, digits);
      const auto read = std::from_chars(text.data(), text.data() + text.size(), value, base);
      const auto taken = static_cast<size_t>(read.ptr - text.data());
      if (taken == 0 || (base == 16 && taken != digits) || value > 0x10ffff) return false;
      append_utf8(out, value >= 0xd800 && value <= 0xdfff ? 0xfffd : value);
      i += taken;
      return true;
    };
    for (;;) {
      if (i >= source_.size()) return bad_template("a text has no closing quote", line_);
      const char c = source_[i++];
      if (c == quote) break;
      if (c != '\\' || i >= source_.size()) {
        out += c;
        continue;
      }
      constexpr std::string_view kMarks = "\\'\"abfnrtv", kMeant = "\\'\"\a\b\f\n\r\t\v";
      const char mark = source_[i];
      if (const size_t known = kMarks.find(mark); known != std::string_view::npos) {
        out += kMeant[known];
        ++i;
      } else if (mark >= '0' && mark <= '7') {
        code(3, 8);
      } else if (mark == 'x' || mark == 'u' || mark == 'U') {
        ++i;
        if (!code(mark == 'x' ? 2 : mark == 'u' ? 4 : 8, 16))
          return bad_template(fmt::format("'\\{}' lacks its digits", mark), line_);
      } else if (mark == 'N') {
        return bad_template("'\\N' is not supported", line_).todo("write the character itself");
      } else if (mark == '\n') {
        ++i;
      } else {
        out += c;
      }
    }
    add(TokenKind::text, std::move(out));
    move_to(i);
    return Ok{};
  }

  const std::string source_;
  size_t at_ = 0;
  int line_ = 1;
  std::vector<Token> tokens_;
};

}  // namespace

Error bad_template(std::string_view what, int line) {
  return Error(err::kChatTemplate, what).at(fmt::format("chat template, line {}", line));
}

Result<std::vector<Token>> tokens_of(std::string_view source) {
  return Lexer(with_plain_lines(source)).run();
}

}  // namespace hone::chat
