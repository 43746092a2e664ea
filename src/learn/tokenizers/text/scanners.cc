#include "learn/tokenizers/text/scanners.h"

#include "base/unicode/swar.h"
#include "base/unicode/unicode.h"

namespace hone {

const std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string_view kCl100kPattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

namespace {

// A character and its class; length 0 at the end of the text.
struct Seen {
  int length;
  uint8_t kind;
};
inline Seen look(const uint8_t* classes, const char* p, const char* end) {
  if (p >= end) return {0, kOther};
  const auto c = static_cast<unsigned char>(*p);
  if (c < 0x80) return {1, classes[c]};
  const Char ch = decode_multibyte(p, end);
  return {ch.length, class_of(classes, ch.code)};
}

// The end of the run of characters whose class is `kind`.
inline const char* run(const uint8_t* classes, const char* p, const char* end, uint8_t kind) {
  for (;;) {
    if (kind == kLetter) p = skip_letters(p, end);
    const Seen s = look(classes, p, end);
    if (s.length == 0 || s.kind != kind) return p;
    p += s.length;
  }
}

struct Spaces {
  const char* end;            // of the run
  const char* last;           // where its last character starts
  const char* after_newline;  // after its last line break, or nullptr
};
inline Spaces spaces(const uint8_t* classes, const char* p, const char* end) {
  Spaces r{p, p, nullptr};
  for (;;) {
    const Seen s = look(classes, r.end, end);
    if (s.length == 0 || !(s.kind & kSpace)) return r;
    r.last = r.end;
    r.end += s.length;
    if (s.kind & kNewline) r.after_newline = r.end;
  }
}

// \s+(?!\S)|\s+ : a run gives its last character away when something follows.
inline const char* trailing_spaces(const Spaces& run, const char* p, const char* end) {
  return run.end == end || run.last == p ? run.end : run.last;
}

// 's|'t|'re|'ve|'m|'ll|'d at an apostrophe, or nullptr.
template <bool kFold>
inline const char* contraction(const char* p, const char* end) {
  const auto letter = [&](int i) -> char {
    if (end - p <= i) return 0;
    const char c = p[i];
    return kFold && c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  };
  switch (letter(1)) {
    case 's':
    case 't':
    case 'm':
    case 'd':
      return p + 2;
    case 'r':
    case 'v':
      return letter(2) == 'e' ? p + 3 : nullptr;
    case 'l':
      return letter(2) == 'l' ? p + 3 : nullptr;
    case '\xc5':  // U+017F, the long s, is an s in another case
      return kFold && letter(2) == '\xbf' ? p + 3 : nullptr;
    default:
      return nullptr;
  }
}

template <int kDigits>
const char* scan_cl100k_like(const char* p, const char* end) {
  const uint8_t* classes = char_classes();
  if (*p == '\'')
    if (const char* q = contraction<true>(p, end)) return q;
  const Seen first = look(classes, p, end);
  const char* q = p + first.length;
  if (first.kind == kLetter) return run(classes, q, end, kLetter);
  if (first.kind == kNumber) {
    for (int i = 1; i < kDigits; ++i) {
      const Seen s = look(classes, q, end);
      if (s.kind != kNumber) break;
      q += s.length;
    }
    return q;
  }
  const Seen second = look(classes, q, end);
  if (!(first.kind & kNewline) && second.kind == kLetter)
    return run(classes, q + second.length, end, kLetter);
  if (first.kind == kOther || (*p == ' ' && second.length > 0 && second.kind == kOther)) {
    q = run(classes, q, end, kOther);
    while (q < end && (*q == '\r' || *q == '\n')) ++q;
    return q;
  }
  const Spaces s = spaces(classes, p, end);
  return s.after_newline ? s.after_newline : trailing_spaces(s, p, end);
}

}  // namespace

const char* scan_gpt2(const char* p, const char* end) {
  const uint8_t* classes = char_classes();
  if (*p == '\'')
    if (const char* q = contraction<false>(p, end)) return q;
  const char* q = *p == ' ' ? p + 1 : p;
  const Seen s = look(classes, q, end);
  if (s.length > 0 && !(s.kind & kSpace)) return run(classes, q + s.length, end, s.kind);
  return trailing_spaces(spaces(classes, p, end), p, end);
}

const char* scan_cl100k(const char* p, const char* end) { return scan_cl100k_like<3>(p, end); }
const char* scan_qwen2(const char* p, const char* end) { return scan_cl100k_like<1>(p, end); }

Scanner scanner_for(std::string_view pattern) {
  if (pattern == kGpt2Pattern) return scan_gpt2;
  if (pattern == kCl100kPattern) return scan_cl100k;
  if (pattern == kQwen2Pattern) return scan_qwen2;
  return nullptr;
}

}  // namespace hone
