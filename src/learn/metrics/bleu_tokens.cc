#include "learn/metrics/bleu_tokens.h"

#include <utf8proc.h>

#include "base/unicode/unicode.h"
#include "learn/metrics/characters.h"

namespace hone {
namespace {

bool is_ascii_digit(char c) { return c >= '0' && c <= '9'; }
bool is_point(char c) { return c == '.' || c == ','; }

// ASCII punctuation and space, but ' , - . which have rules of their own.
bool is_separate(char c) {
  return (c >= '{' && c <= '~') || (c >= '[' && c <= '`') || (c >= ' ' && c <= '&') ||
         (c >= '(' && c <= '+') || (c >= ':' && c <= '@') || c == '/';
}

void replace_all(std::string& s, std::string_view from, std::string_view to) {
  for (size_t at = 0; (at = s.find(from, at)) != std::string::npos; at += to.size())
    s.replace(at, from.size(), to);
}

// The four rules of mteval, one after the other as regular expressions would: a rule that takes two
// characters continues after the second. Every character that matters is one byte, so bytes do.
std::string western(const std::string& line) {
  std::string a, b;
  a.reserve(line.size() * 2);
  b.reserve(line.size() * 2);
  for (const char c : line) {
    if (is_separate(c))
      a += ' ', a += c, a += ' ';
    else
      a += c;
  }
  // A point or comma after what is not a digit.
  for (size_t i = 0; i < a.size(); ++i) {
    b += a[i];
    if (is_ascii_digit(a[i]) || i + 1 == a.size() || !is_point(a[i + 1])) continue;
    b += ' ', b += a[++i], b += ' ';
  }
  // A point or comma in front of what is not a digit.
  a.clear();
  for (size_t i = 0; i < b.size(); ++i) {
    if (!is_point(b[i]) || i + 1 == b.size() || is_ascii_digit(b[i + 1])) {
      a += b[i];
      continue;
    }
    a += ' ', a += b[i], a += ' ', a += b[++i];
  }
  // A dash after a digit.
  b.clear();
  for (size_t i = 0; i < a.size(); ++i) {
    b += a[i];
    if (!is_ascii_digit(a[i]) || i + 1 == a.size() || a[i + 1] != '-') continue;
    b += ' ', b += a[++i], b += ' ';
  }
  return b;
}

std::string tokenize_13a(std::string_view text) {
  std::string line(text);
  replace_all(line, "<skipped>", "");
  replace_all(line, "-\n", "");
  replace_all(line, "\n", " ");
  if (line.find('&') != std::string::npos) {
    replace_all(line, "&quot;", "\"");
    replace_all(line, "&amp;", "&");
    replace_all(line, "&lt;", "<");
    replace_all(line, "&gt;", ">");
  }
  return western(" " + line + " ");
}

// sacreBLEU's ranges as they work there: it writes two of them with five digits after \u, so that
// they mean U+2001 to U+2A6D and U+2F81 to U+2FA1; ideographs beyond U+FFFF are not among them.
bool is_chinese(uint32_t c) {
  return (c >= 0x2001 && c <= 0x2A6D) || (c >= 0x2E80 && c <= 0x2FDF) ||
         (c >= 0x2FF0 && c <= 0x303F) || (c >= 0x3100 && c <= 0x312F) ||
         (c >= 0x31A0 && c <= 0x31BF) || (c >= 0x31C0 && c <= 0x31EF) ||
         (c >= 0x3200 && c <= 0x33FF) || (c >= 0x3400 && c <= 0x4DB5) ||
         (c >= 0x4E00 && c <= 0x9FBB) || (c >= 0xF900 && c <= 0xFA2D) ||
         (c >= 0xFA30 && c <= 0xFA6A) || (c >= 0xFA70 && c <= 0xFAD9) ||
         (c >= 0xFE10 && c <= 0xFE1F) || (c >= 0xFE30 && c <= 0xFE4F) ||
         (c >= 0xFF00 && c <= 0xFFEF);
}

// Each character that `alone` holds for between two spaces.
template <class Alone>
std::string spaced(std::string_view text, Alone alone) {
  std::string out;
  out.reserve(text.size() * 2);
  for (const char *p = text.data(), *end = p + text.size(); p < end;) {
    const Char c = decode_char(p, end);
    const bool apart = alone(c.code);
    if (apart) out += ' ';
    out.append(p, static_cast<size_t>(c.length));
    if (apart) out += ' ';
    p += c.length;
  }
  return out;
}

enum class Kind { kPunctuation, kSymbol, kNumber, kOther };

Kind kind_of(uint32_t code) {
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_PC:
    case UTF8PROC_CATEGORY_PD:
    case UTF8PROC_CATEGORY_PS:
    case UTF8PROC_CATEGORY_PE:
    case UTF8PROC_CATEGORY_PI:
    case UTF8PROC_CATEGORY_PF:
    case UTF8PROC_CATEGORY_PO:
      return Kind::kPunctuation;
    case UTF8PROC_CATEGORY_SM:
    case UTF8PROC_CATEGORY_SC:
    case UTF8PROC_CATEGORY_SK:
    case UTF8PROC_CATEGORY_SO:
      return Kind::kSymbol;
    default:
      return class_of(char_classes(), code) & kNumber ? Kind::kNumber : Kind::kOther;
  }
}

// Punctuation is split off unless digits are on both sides; symbols are tokens.
std::string tokenize_intl(std::string_view text) {
  struct Piece {
    std::string_view bytes;
    Kind kind;
  };
  constexpr Piece kSpace = {" ", Kind::kOther};
  std::vector<Piece> a, b;
  for (const char *p = text.data(), *end = p + text.size(); p < end;) {
    const Char c = decode_char(p, end);
    a.push_back({{p, static_cast<size_t>(c.length)}, kind_of(c.code)});
    p += c.length;
  }
  for (size_t i = 0; i < a.size(); ++i) {  // after what is not a number
    b.push_back(a[i]);
    if (a[i].kind == Kind::kNumber || i + 1 == a.size() || a[i + 1].kind != Kind::kPunctuation)
      continue;
    b.insert(b.end(), {kSpace, a[++i], kSpace});
  }
  a.clear();
  for (size_t i = 0; i < b.size(); ++i) {  // in front of what is not a number
    if (b[i].kind != Kind::kPunctuation || i + 1 == b.size() || b[i + 1].kind == Kind::kNumber) {
      a.push_back(b[i]);
      continue;
    }
    a.insert(a.end(), {kSpace, b[i], kSpace, b[i + 1]});
    ++i;
  }
  std::string out;
  out.reserve(text.size() * 2);
  for (const Piece& piece : a) {
    const bool apart = piece.kind == Kind::kSymbol;
    if (apart) out += ' ';
    out += piece.bytes;
    if (apart) out += ' ';
  }
  return out;
}

constexpr struct {
  BleuTokenizer tokenizer;
  const char* name;
} kTokenizerNames[] = {{BleuTokenizer::k13a, "13a"},
                       {BleuTokenizer::kIntl, "intl"},
                       {BleuTokenizer::kZh, "zh"},
                       {BleuTokenizer::kChar, "char"},
                       {BleuTokenizer::kNone, "none"}};

}  // namespace

std::vector<std::string> bleu_tokenizer_names() {
  std::vector<std::string> names;
  for (const auto& n : kTokenizerNames) names.emplace_back(n.name);
  return names;
}

const char* name_of(BleuTokenizer t) {
  for (const auto& n : kTokenizerNames) {
    if (n.tokenizer == t) return n.name;
  }
  return "";
}

std::string bleu_tokenized(std::string_view line, BleuTokenizer t) {
  line = strip_right(line);
  switch (t) {
    case BleuTokenizer::k13a:
      return tokenize_13a(line);
    case BleuTokenizer::kIntl:
      return tokenize_intl(line);
    case BleuTokenizer::kZh:
      return western(spaced(strip(line), is_chinese));
    case BleuTokenizer::kChar:
      return spaced(line, [](uint32_t) { return true; });
    case BleuTokenizer::kNone:
      break;
  }
  return std::string(line);
}

}  // namespace hone
