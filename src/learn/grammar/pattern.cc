#include "learn/grammar/pattern.h"

#include <algorithm>

#include "base/unicode/unicode.h"
#include "learn/grammar/errors.h"

namespace hone {
namespace {

constexpr size_t kLongestPattern = 1024;  // bytes
constexpr int kDeepestGroup = 32;
constexpr int64_t kMostRepeats = 4096;

template <class Has>
CodeSet codes_with(CodeSet set, const Has& has) {
  for (uint32_t code = 0; code < kClassTableSize; ++code)
    if (has(code)) set.push_back({code, code});
  return normalized(std::move(set));
}

// Validators differ: JavaScript's \d and \w are ASCII, Python's are not, and their spaces are others.
// A text must be valid by both, so a class is narrow where it is wanted (the codes that all of them
// take) and wide where its opposite is (the codes that one of them takes).
const CodeSet& digit_chars(bool wide) {
  static const CodeSet narrow{{'0', '9'}},
      all = codes_with({}, [](uint32_t c) { return (class_of(char_classes(), c) & kNumber) != 0; });
  return wide ? all : narrow;
}
const CodeSet& word_chars(bool wide) {
  static const CodeSet narrow{{'0', '9'}, {'A', 'Z'}, {'_', '_'}, {'a', 'z'}},
      all = codes_with(narrow, [](uint32_t c) {
        return (class_of(char_classes(), c) & (kLetter | kNumber)) != 0 || is_word_char(c);
      });
  return wide ? all : narrow;
}
const CodeSet& space_chars(bool wide) {
  static const CodeSet narrow{{0x09, 0x0D},     {0x20, 0x20},     {0xA0, 0xA0},
                              {0x1680, 0x1680}, {0x2000, 0x200A}, {0x2028, 0x2029},
                              {0x202F, 0x202F}, {0x205F, 0x205F}, {0x3000, 0x3000}},
      all = codes_with(narrow, [](uint32_t c) {
        return (class_of(char_classes(), c) & kSpace) != 0 || (c >= 0x1C && c <= 0x1F) ||
               c == 0xFEFF;
      });
  return wide ? all : narrow;
}
const CodeSet& line_ends() {
  static const CodeSet set{{'\n', '\n'}, {'\r', '\r'}, {0x2028, 0x2029}};
  return set;
}

// Recursive descent that builds states as it reads. A repeat reads its part once for each copy.
class PatternParser {
 public:
  PatternParser(Automaton& a, StringRules& rules, const std::string& pattern)
      : a_(a), rules_(rules), text_(pattern) {}

  Result<int32_t> whole(int32_t from) {
    const int32_t end = a_.add_state();
    do {
      int32_t at = a_.add_state();
      a_.free(from, at);
      if (!take('^')) at = any_text(at);
      at = HONE_TRY(sequence(at, 0));
      if (!take('$')) at = any_text(at);
      a_.free(at, end);
    } while (take('|'));
    if (at_ < text_.size()) return wrong("it has a ')' without '('");
    return end;
  }

 private:
  bool ended() const { return at_ >= text_.size(); }
  bool take(char c) {
    if (ended() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  Error wrong(const std::string& what) const {
    return Error(err::kBadSchema, fmt::format("the pattern {} is wrong: {}", text_, what));
  }
  Error refused(const std::string& what) const {
    return Error(err::kSchemaNotOffered, fmt::format("{} in the pattern {}", what, text_))
        .todo("use literals, classes, groups, alternatives and repeats");
  }
  int32_t any_text(int32_t from) {
    const int32_t at = a_.add_state();
    a_.free(from, at);
    a_.call(at, rules_.any_char(), at);
    return at;
  }

  Result<int32_t> alternatives(int32_t from, int depth) {
    const int32_t end = a_.add_state();
    do {
      const int32_t at = HONE_TRY(sequence(from, depth));
      a_.free(at, end);
    } while (take('|'));
    return end;
  }

  Result<int32_t> sequence(int32_t from, int depth) {
    while (!ended() && text_[at_] != '|' && text_[at_] != ')') {
      if (text_[at_] == '$' && depth == 0) {
        if (at_ + 1 < text_.size() && text_[at_ + 1] != '|') return refused("'$' before the end");
        break;
      }
      from = HONE_TRY(repeated(from, depth));
      if (a_.full()) return refused("too many repeats");
    }
    return from;
  }

  struct Count {
    int64_t least = 1, most = 1;  // -1: any number
  };
  Result<int64_t> number() {
    const size_t begin = at_;
    int64_t n = 0;
    while (!ended() && text_[at_] >= '0' && text_[at_] <= '9' && at_ - begin < 6)
      n = n * 10 + (text_[at_++] - '0');
    if (at_ == begin) return wrong("a count is not a number");
    if (n > kMostRepeats) return refused(fmt::format("a count of {}", n));
    return n;
  }
  Result<Count> count() {
    Count c;
    if (take('*')) {
      c = {0, -1};
    } else if (take('+')) {
      c = {1, -1};
    } else if (take('?')) {
      c = {0, 1};
    } else if (take('{')) {
      c.least = c.most = HONE_TRY(number());
      if (take(',')) c.most = !ended() && text_[at_] == '}' ? -1 : HONE_TRY(number());
      if (!take('}')) return wrong("a count has no '}'");
      if (c.most >= 0 && c.most < c.least) return wrong("a count is smaller than its least");
    } else {
      return c;
    }
    take('?');  // the least match first: the same texts
    return c;
  }

  Result<int32_t> repeated(int32_t from, int depth) {
    const size_t begin = at_;
    const int32_t first = a_.add_state();
    int32_t at = HONE_TRY(atom(first, depth));
    const Count c = HONE_TRY(count());
    const size_t end = at_;
    const int32_t out = a_.add_state();
    a_.free(from, first);
    if (c.least == 0) a_.free(from, out);
    if (c.most == 0) return out;
    const auto again = [&]() -> Result<int32_t> {
      if (a_.full()) return refused("too many repeats");
      at_ = begin;
      const int32_t next = a_.add_state();
      a_.free(at, next);
      return atom(next, depth);
    };
    for (int64_t i = 1; i < c.least; ++i) at = HONE_TRY(again());
    if (c.most < 0) {
      const int32_t last = at;
      at = HONE_TRY(again());
      a_.free(at, last);
      at = last;
    }
    a_.free(at, out);
    for (int64_t i = std::max<int64_t>(c.least, 1); i < c.most; ++i) {
      at = HONE_TRY(again());
      a_.free(at, out);
    }
    at_ = end;
    return out;
  }

  Result<int32_t> atom(int32_t from, int depth) {
    if (take('(')) return group(from, depth);
    CodeSet set;
    if (take('[')) {
      set = HONE_TRY(char_class());
    } else if (take('.')) {
      set = complement(line_ends());
    } else if (take('\\')) {
      set = HONE_TRY(escape(false, false));
    } else {
      const Char c = decode_char(text_.data() + at_, text_.data() + text_.size());
      if (c.code == kInvalidChar) return wrong("it is not UTF-8");
      if (c.code < 0x80 &&
          std::string_view("*+?{^").find(static_cast<char>(c.code)) != std::string::npos)
        return c.code == '^' ? refused("'^' after the beginning")
                             : wrong("a repeat has nothing before it");
      at_ += static_cast<size_t>(c.length);
      set = {{c.code, c.code}};
    }
    const int32_t to = a_.add_state();
    a_.call(from, rules_.one_of(normalized(std::move(set))), to);
    return to;
  }

  Result<int32_t> group(int32_t from, int depth) {
    if (depth >= kDeepestGroup) return refused(fmt::format("more than {} groups in groups", depth));
    if (take('?')) {
      if (take('<') && !ended() && text_[at_] != '=' && text_[at_] != '!') {
        while (!ended() && text_[at_] != '>') ++at_;  // its name
        take('>');
      } else if (!take(':')) {
        return refused("a look-around or a flag");
      }
    }
    const int32_t at = HONE_TRY(alternatives(from, depth + 1));
    if (!take(')')) return wrong("a '(' has no ')'");
    return at;
  }

  Result<uint32_t> hex(int digits) {
    uint32_t code = 0;
    for (int i = 0; i < digits; ++i, ++at_) {
      const char c = ended() ? '?' : text_[at_];
      const bool letter = (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F');
      if (!letter && !(c >= '0' && c <= '9')) return wrong("an escape lacks a digit");
      code = code * 16 + static_cast<uint32_t>(letter ? (c | 0x20) - 'a' + 10 : c - '0');
    }
    return code;
  }

  // The set after a backslash; `wide`: its opposite is wanted.
  Result<CodeSet> escape(bool in_class, bool wide) {
    if (ended()) return wrong("it ends with a backslash");
    const char c = text_[at_++];
    if (c == 'd') return digit_chars(wide);
    if (c == 'D') return complement(digit_chars(!wide));
    if (c == 'w') return word_chars(wide);
    if (c == 'W') return complement(word_chars(!wide));
    if (c == 's') return space_chars(wide);
    if (c == 'S') return complement(space_chars(!wide));
    constexpr std::pair<char, uint32_t> kControls[] = {{'n', '\n'}, {'r', '\r'}, {'t', '\t'},
                                                       {'f', '\f'}, {'v', '\v'}, {'0', 0}};
    for (const auto& [letter, code] : kControls)
      if (c == letter) return CodeSet{{code, code}};
    if (c == 'b' && in_class) return CodeSet{{'\b', '\b'}};
    if (c == 'x' || c == 'u') {
      const uint32_t code = HONE_TRY(hex(c == 'x' ? 2 : 4));
      if (code >= 0xD800 && code <= 0xDFFF) return refused("half of a surrogate pair");
      return CodeSet{{code, code}};
    }
    const bool letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
    if (letter || (static_cast<unsigned char>(c) & 0x80) != 0)
      return refused(fmt::format("'\\{}'", c));
    const auto code = static_cast<uint32_t>(c);
    return CodeSet{{code, code}};
  }

  Result<CodeSet> class_item(bool wide) {
    if (take('\\')) return escape(true, wide);
    const Char c = decode_char(text_.data() + at_, text_.data() + text_.size());
    if (c.code == kInvalidChar) return wrong("it is not UTF-8");
    at_ += static_cast<size_t>(c.length);
    return CodeSet{{c.code, c.code}};
  }

  Result<CodeSet> char_class() {
    const bool others = take('^');
    CodeSet set;
    while (!ended() && text_[at_] != ']') {
      CodeSet item = HONE_TRY(class_item(others));
      const bool one = item.size() == 1 && item[0].first == item[0].last;
      if (one && at_ + 1 < text_.size() && text_[at_] == '-' && text_[at_ + 1] != ']') {
        ++at_;
        const CodeSet last = HONE_TRY(class_item(others));
        if (last.size() != 1 || last[0].first != last[0].last || last[0].first < item[0].first)
          return wrong("a span of a class has no end");
        item[0].last = last[0].first;
      }
      set.insert(set.end(), item.begin(), item.end());
    }
    if (!take(']')) return wrong("a '[' has no ']'");
    set = normalized(std::move(set));
    return others ? complement(set) : set;
  }

  Automaton& a_;
  StringRules& rules_;
  const std::string& text_;
  size_t at_ = 0;
};

}  // namespace

Result<int32_t> add_pattern(Automaton& a, StringRules& rules, int32_t from,
                            const std::string& pattern) {
  if (pattern.size() > kLongestPattern)
    return Error(err::kSchemaNotOffered, fmt::format("a pattern of {} bytes, more than {}",
                                                     pattern.size(), kLongestPattern))
        .todo("shorten the pattern");
  return PatternParser(a, rules, pattern).whole(from);
}

}  // namespace hone
