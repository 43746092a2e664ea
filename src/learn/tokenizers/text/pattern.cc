#include "learn/tokenizers/text/pattern.h"

#include <algorithm>
#include <cstring>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/unicode/swar.h"
#include "learn/tokenizers/text/errors.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/scanners.h"

namespace hone {
namespace {

class Literal : public Pattern {
 public:
  explicit Literal(std::string text) : text_(std::move(text)) {}
  void each_match(std::string_view text, FunctionRef<void(size_t, size_t)> fn) const override {
    for (size_t at = 0; (at = text.find(text_, at)) != text.npos; at += text_.size())
      fn(at, at + text_.size());
  }

 private:
  std::string text_;
};

class Scanned : public Pattern {
 public:
  explicit Scanned(Scanner scan) : scan_(scan) {}
  void each_match(std::string_view text, FunctionRef<void(size_t, size_t)> fn) const override {
    const char* begin = text.data();
    const char* end = begin + text.size();
    for (const char* p = begin; p < end;) {
      const char* q = scan_(p, end);
      fn(static_cast<size_t>(p - begin), static_cast<size_t>(q - begin));
      p = q;
    }
  }

 private:
  Scanner scan_;
};

// PCRE2's \s differs from Unicode's White_Space in U+180E; \s and \S are written out. Oniguruma's
// classes may hold classes, whose characters are theirs: [^(a|[b,c])] is [^(a|b,c)].
std::string spell_out_spaces(std::string_view regex) {
  constexpr std::string_view kSpace =
      R"(\x{9}-\x{d}\x{20}\x{85}\x{a0}\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";
  std::string out;
  int in_class = 0;  // the depth of classes
  for (size_t i = 0; i < regex.size(); ++i) {
    const char c = regex[i];
    if (c == '\\' && i + 1 < regex.size()) {
      const char next = regex[++i];
      if (next == 's') {
        out += in_class ? std::string(kSpace) : fmt::format("[{}]", kSpace);
      } else if (next == 'S' && !in_class) {
        out += fmt::format("[^{}]", kSpace);
      } else {
        out += c;
        out += next;
      }
      continue;
    }
    const char next = i + 1 < regex.size() ? regex[i + 1] : 0;
    const bool nested = c == '[' && in_class > 0 && next != ':' && next != '^';
    if (nested || (c == '[' && in_class == 0))
      ++in_class;
    else if (c == ']' && in_class > 0 && --in_class > 0)
      continue;
    if (!nested) out += c;
  }
  return out;
}

// In Oniguruma ^ and $ always match at the ends of lines.
class Regex : public Pattern {
 public:
  static Result<std::unique_ptr<Pattern>> make(std::string_view regex, const std::string& where) {
    const std::string spelled = spell_out_spaces(regex);
    int error = 0;
    PCRE2_SIZE offset = 0;
    std::unique_ptr<Regex> r(new Regex);
    r->code_.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(spelled.data()), spelled.size(),
                                 PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF | PCRE2_MULTILINE,
                                 &error, &offset, nullptr));
    if (!r->code_) {
      char message[200] = "";
      pcre2_get_error_message(error, reinterpret_cast<PCRE2_UCHAR*>(message), sizeof message);
      return Error(err::kTokenizerPattern,
                   fmt::format("the pattern does not compile: {}, at character {} of {}", message,
                               offset, spelled))
          .at(where)
          .todo("patterns are those of Oniguruma and PCRE2: check the tokenizer file");
    }
    pcre2_jit_compile(r->code_.get(), PCRE2_JIT_COMPLETE);  // without JIT it only runs slower
    return std::unique_ptr<Pattern>(std::move(r));
  }

  void each_match(std::string_view text, FunctionRef<void(size_t, size_t)> fn) const override {
    // The whole match is all that is asked for, so one pair of offsets does for every pattern.
    thread_local const std::unique_ptr<pcre2_match_data, decltype(&pcre2_match_data_free)> data(
        pcre2_match_data_create(1, nullptr), pcre2_match_data_free);
    const auto* subject = reinterpret_cast<PCRE2_SPTR>(text.data());
    // As the iterators of Oniguruma's and Rust's regexes: an empty match is one, except at the end
    // of the match before it.
    size_t last = std::string_view::npos;
    for (size_t at = 0; !text.empty() && at <= text.size();) {
      const int found = pcre2_match(code_.get(), subject, text.size(), at, 0, data.get(), nullptr);
      if (found < 0) return;  // no match, or its limits are exceeded: the rest is one piece
      const PCRE2_SIZE* span = pcre2_get_ovector_pointer(data.get());
      const size_t begin = std::max<size_t>(span[0], at), end = std::max<size_t>(span[1], begin);
      if (begin == end && end == last) {
        ++at;
        while (at < text.size() && (text[at] & 0xc0) == 0x80) ++at;
        continue;
      }
      fn(begin, end);
      at = last = end;
    }
  }

 private:
  Regex() = default;
  std::unique_ptr<pcre2_code, decltype(&pcre2_code_free)> code_{nullptr, pcre2_code_free};
};

}  // namespace

void append_replaced(const Pattern& pattern, std::string_view text, std::string_view content,
                     std::string& out) {
  size_t done = 0;
  pattern.each_match(text, [&](size_t begin, size_t end) {
    out.append(text, done, begin - done);
    out += content;
    done = end;
  });
  out.append(text, done);
}

void append_replaced_byte(std::string_view text, char byte, std::string_view content,
                          std::string& out) {
  constexpr size_t kStep = 8;  // bytes that are copied, though fewer may be wanted
  const char *p = text.data(), *const end = p + text.size();
  size_t matches = 0;
  for (; end - p >= 8; p += 8) matches += count_of(equal_bytes(load_eight(p), byte));
  matches += static_cast<size_t>(std::count(p, end, byte));
  const size_t before = out.size();
  out.resize(before + text.size() + matches * content.size() + kStep);
  char* to = out.data() + before;
  uint64_t head = 0;
  std::memcpy(&head, content.data(), std::min(content.size(), kStep));
  const auto put_content = [&] {
    std::memcpy(to, &head, kStep);
    if (content.size() > kStep) std::memcpy(to, content.data(), content.size());
    to += content.size();
  };
  for (p = text.data(); end - p >= 8;) {
    const uint64_t v = load_eight(p), found = equal_bytes(v, byte);
    std::memcpy(to, &v, kStep);
    const int run = found ? first_of(found) : 8;
    to += run;
    p += run;
    if (!found) continue;
    put_content();
    ++p;
  }
  for (; p < end; ++p) {
    if (*p == byte)
      put_content();
    else
      *to++ = *p;
  }
  out.resize(static_cast<size_t>(to - out.data()));
}

Result<std::unique_ptr<Pattern>> make_regex(std::string_view regex, const std::string& where) {
  if (const Scanner scan = scanner_for(regex))
    return std::unique_ptr<Pattern>(std::make_unique<Scanned>(scan));
  return Regex::make(regex, where);
}

Result<std::unique_ptr<Pattern>> make_pattern(const JsonAt& spec) {
  if (const auto literal = spec.find("String")) {
    const std::string_view text = HONE_TRY(literal->string());
    if (text.empty()) return literal->expected("a text that is not empty");
    return std::unique_ptr<Pattern>(std::make_unique<Literal>(std::string(text)));
  }
  const JsonAt regex = HONE_TRY(spec.get("Regex"));
  return make_regex(HONE_TRY(regex.string()), regex.where);
}

}  // namespace hone
