#include "base/unicode/unicode.h"

#include <utf8proc.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <vector>

#include "base/unicode/unicode_tables.h"

namespace hone {
namespace {

// White_Space of Unicode.
constexpr CodeRange kSpaces[] = {
    {0x09, 0x0d},     {0x20, 0x20},     {0x85, 0x85},     {0xa0, 0xa0},     {0x1680, 0x1680},
    {0x2000, 0x200a}, {0x2028, 0x2029}, {0x202f, 0x202f}, {0x205f, 0x205f}, {0x3000, 0x3000}};

std::vector<uint8_t> build_classes() {
  std::vector<uint8_t> table(kClassTableSize, kOther);
  auto mark = [&](std::span<const CodeRange> ranges, uint8_t bits) {
    for (const CodeRange& r : ranges) std::fill(&table[r.first], &table[r.last] + 1, bits);
  };
  mark(letter_ranges(), kLetter);
  mark(number_ranges(), kNumber);
  mark(kSpaces, kSpace);
  table['\r'] = table['\n'] = kSpace | kNewline;
  return table;
}

// Code points whose neighbourhood NFC may change: marks, second halves of compositions, and
// characters that are not their own NFC.
std::vector<bool> build_nfc_suspects() {
  std::vector<bool> suspect(kClassTableSize, false);
  for (uint32_t c = 0x300; c < kClassTableSize; ++c) {
    const utf8proc_property_t* p = utf8proc_get_property(static_cast<utf8proc_int32_t>(c));
    const bool syllable = c >= 0xac00 && c <= 0xd7a3;
    const bool vowel_or_tail_jamo = c >= 0x1160 && c <= 0x11ff;
    const bool second = p->comb_index != UINT16_MAX && p->comb_index >= 0x8000;
    bool changes = false;
    if (!syllable && p->decomp_seqindex != UINT16_MAX && p->decomp_type == 0) {
      std::string one;
      append_utf8(one, c);
      changes = normalize_text(one, NormalForm::kC) != one;
    }
    suspect[c] = p->combining_class != 0 || second || vowel_or_tail_jamo || changes;
  }
  return suspect;
}

struct ByteAlphabet {
  std::array<uint16_t, 256> to_char;
  std::array<int16_t, 324> to_byte;
};
constexpr ByteAlphabet build_alphabet() {
  ByteAlphabet a{};
  for (auto& b : a.to_byte) b = -1;
  int next = 256;
  for (int b = 0; b < 256; ++b) {
    const bool printable = (b >= '!' && b <= '~') || (b >= 0xa1 && b <= 0xac) || b >= 0xae;
    const int c = printable ? b : next++;
    a.to_char[b] = static_cast<uint16_t>(c);
    a.to_byte[c] = static_cast<int16_t>(b);
  }
  return a;
}
constexpr ByteAlphabet kAlphabet = build_alphabet();

// Length of the longest prefix of [p, end) that could begin one valid sequence, and whether it is
// a whole one. Second bytes are limited as table 3-7 of the Unicode standard says.
struct Prefix {
  int length;
  bool whole;
};
Prefix valid_prefix(const char* p, const char* end) {
  auto at = [&](int i) { return static_cast<unsigned char>(p[i]); };
  const unsigned char c = at(0);
  if (c < 0x80) return {1, true};
  int need = 0;
  unsigned char low = 0x80, high = 0xbf;
  if (c >= 0xc2 && c <= 0xdf)
    need = 2;
  else if (c >= 0xe0 && c <= 0xef)
    need = 3;
  else if (c >= 0xf0 && c <= 0xf4)
    need = 4;
  else
    return {1, false};
  if (c == 0xe0) low = 0xa0;
  if (c == 0xed) high = 0x9f;
  if (c == 0xf0) low = 0x90;
  if (c == 0xf4) high = 0x8f;
  int n = 1;
  for (; n < need && p + n < end; ++n) {
    if (at(n) < low || at(n) > high) break;
    low = 0x80;
    high = 0xbf;
  }
  return {n, n == need};
}

}  // namespace

const uint8_t* char_classes() {
  static const std::vector<uint8_t> table = build_classes();
  return table.data();
}

Char decode_multibyte(const char* p, const char* end) {
  const Prefix prefix = valid_prefix(p, end);
  if (!prefix.whole) return {kInvalidChar, 1};
  const auto byte = [&](int i) { return static_cast<uint32_t>(static_cast<unsigned char>(p[i])); };
  if (prefix.length == 1) return {byte(0), 1};
  uint32_t code = byte(0) & (0xffu >> (prefix.length + 1));
  for (int i = 1; i < prefix.length; ++i) code = code << 6 | (byte(i) & 0x3f);
  return {code, prefix.length};
}

Char decode_last_char(const char* begin, const char* end) {
  for (int back = 1; back <= 4 && end - back >= begin; ++back) {
    if ((static_cast<unsigned char>(end[-back]) & 0xc0) == 0x80) continue;
    const Char c = decode_char(end - back, end);
    if (c.length == back) return c;
    break;
  }
  return {kInvalidChar, 1};
}

std::string lossy_utf8(std::string_view bytes) {
  std::string out;
  out.reserve(bytes.size());
  const char* end = bytes.data() + bytes.size();
  for (const char* p = bytes.data(); p < end;) {
    const Prefix prefix = valid_prefix(p, end);
    if (prefix.whole)
      out.append(p, prefix.length);
    else
      out.append("\xEF\xBF\xBD");
    p += prefix.length;
  }
  return out;
}

int incomplete_tail(std::string_view bytes) {
  const char* end = bytes.data() + bytes.size();
  for (int back = 1; back <= 3 && back <= static_cast<int>(bytes.size()); ++back) {
    const auto c = static_cast<unsigned char>(end[-back]);
    if (c < 0x80) return 0;
    if (c < 0xc0) continue;
    const Prefix prefix = valid_prefix(end - back, end);
    const bool more_wanted = c >= 0xc2 && c <= 0xf4 && !prefix.whole && prefix.length == back;
    return more_wanted ? back : 0;
  }
  return 0;
}

bool is_mark_char(uint32_t c) {
  if (c < 0x300 || c == kInvalidChar || c > 0x10ffff) return false;
  const utf8proc_category_t category = utf8proc_category(static_cast<utf8proc_int32_t>(c));
  return category == UTF8PROC_CATEGORY_MN || category == UTF8PROC_CATEGORY_MC ||
         category == UTF8PROC_CATEGORY_ME;
}

bool is_word_char(uint32_t c) {
  if (c == kInvalidChar || c > 0x10ffff) return false;
  if (class_of(char_classes(), c) == kLetter) return true;
  if (c == 0x200c || c == 0x200d) return true;  // joiners
  if ((c >= 0x24b6 && c <= 0x24e9) || (c >= 0x1f130 && c <= 0x1f149) ||
      (c >= 0x1f150 && c <= 0x1f169) || (c >= 0x1f170 && c <= 0x1f189))
    return true;  // alphabetic symbols
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(c))) {
    case UTF8PROC_CATEGORY_MN:
    case UTF8PROC_CATEGORY_MC:
    case UTF8PROC_CATEGORY_ME:
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_PC:
      return true;
    case UTF8PROC_CATEGORY_CN:  // younger than utf8proc: the new numbers are decimal digits
      return class_of(char_classes(), c) == kNumber;
    default:
      return false;
  }
}

void append_lower_char(uint32_t code, std::string& out) {
  if (code < 0x80) {
    out += static_cast<char>(code >= 'A' && code <= 'Z' ? code + 32 : code);
    return;
  }
  if (code == 0x130) {  // the only one that becomes two characters
    out += "i\xCC\x87";
    return;
  }
  const std::span<const CodePair> young = young_lower_case();
  if (code >= young.front().from && code <= young.back().from) {
    const auto at = std::lower_bound(young.begin(), young.end(), code,
                                     [](const CodePair& p, uint32_t c) { return p.from < c; });
    if (at->from == code) return append_utf8(out, at->to);
  }
  append_utf8(out, static_cast<uint32_t>(utf8proc_tolower(static_cast<utf8proc_int32_t>(code))));
}

void append_lowercase(std::string_view text, std::string& out) {
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const Char c = decode_char(p, end);
    if (c.code == kInvalidChar)
      out += *p;
    else
      append_lower_char(c.code, out);
    p += c.length;
  }
}

void append_upper_char(uint32_t code, std::string& out) {
  // Several characters: https://www.unicode.org/Public/UNIDATA/SpecialCasing.txt
  constexpr std::pair<uint32_t, const char*> kLonger[] = {
      {0xdf, "SS"},    {0x149, "\xCA\xBCN"}, {0xfb00, "FF"}, {0xfb01, "FI"}, {0xfb02, "FL"},
      {0xfb03, "FFI"}, {0xfb04, "FFL"},      {0xfb05, "ST"}, {0xfb06, "ST"}};
  for (const auto& [from, to] : kLonger)
    if (code == from) {
      out += to;
      return;
    }
  append_utf8(out, static_cast<uint32_t>(utf8proc_toupper(static_cast<utf8proc_int32_t>(code))));
}

bool is_printable_char(uint32_t code) {
  if (code < 0x7f) return code >= 0x20;
  switch (utf8proc_category(static_cast<utf8proc_int32_t>(code))) {
    case UTF8PROC_CATEGORY_CC:
    case UTF8PROC_CATEGORY_CF:
    case UTF8PROC_CATEGORY_CS:
    case UTF8PROC_CATEGORY_CO:
    case UTF8PROC_CATEGORY_CN:
    case UTF8PROC_CATEGORY_ZL:
    case UTF8PROC_CATEGORY_ZP:
    case UTF8PROC_CATEGORY_ZS:
      return false;
    default:
      return true;
  }
}

std::string normalize_text(std::string_view text, NormalForm form) {
  int options = UTF8PROC_STABLE;
  options |=
      form == NormalForm::kC || form == NormalForm::kKC ? UTF8PROC_COMPOSE : UTF8PROC_DECOMPOSE;
  if (form == NormalForm::kKC || form == NormalForm::kKD) options |= UTF8PROC_COMPAT;
  std::string out;
  out.reserve(text.size());
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    const char* q = p;  // a run of valid UTF-8
    while (q < end) {
      const Char c = decode_char(q, end);
      if (c.code == kInvalidChar) break;
      q += c.length;
    }
    if (q == p) {
      out.push_back(*p++);
      continue;
    }
    utf8proc_uint8_t* mapped = nullptr;
    const auto n = utf8proc_map(reinterpret_cast<const utf8proc_uint8_t*>(p), q - p, &mapped,
                                static_cast<utf8proc_option_t>(options));
    if (n >= 0)
      out.append(reinterpret_cast<const char*>(mapped), static_cast<size_t>(n));
    else
      out.append(p, q);
    std::free(mapped);
    p = q;
  }
  return out;
}

bool surely_nfc(std::string_view text) {
  static const std::vector<bool> suspect = build_nfc_suspects();
  const char* end = text.data() + text.size();
  for (const char* p = text.data(); p < end;) {
    if (static_cast<unsigned char>(*p) < 0xcc) {  // below U+0300, or a stray byte
      ++p;
      continue;
    }
    const Char c = decode_multibyte(p, end);
    if (c.code != kInvalidChar && (c.code >= kClassTableSize || suspect[c.code])) return false;
    p += c.length;
  }
  return true;
}

uint32_t byte_to_char(uint8_t byte) { return kAlphabet.to_char[byte]; }

int char_to_byte(uint32_t code) {
  return code < kAlphabet.to_byte.size() ? kAlphabet.to_byte[code] : -1;
}

void append_byte_level(std::string_view bytes, std::string& out) {
  for (const char c : bytes) append_utf8(out, byte_to_char(static_cast<uint8_t>(c)));
}

void append_byte_level_decoded(std::string_view token, std::string& out) {
  const size_t start = out.size();
  const char* end = token.data() + token.size();
  for (const char* p = token.data(); p < end;) {
    const Char c = decode_char(p, end);
    const int byte = char_to_byte(c.code);
    if (byte < 0) {
      out.resize(start);
      out.append(token);
      return;
    }
    out.push_back(static_cast<char>(byte));
    p += c.length;
  }
}

}  // namespace hone
