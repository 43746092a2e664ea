#include "learn/grammar/characters.h"

#include <algorithm>

#include "base/unicode/unicode.h"

namespace hone {
namespace {

constexpr std::pair<uint32_t, char> kEscapes[] = {
    {'"', '"'}, {'\\', '\\'}, {'\n', 'n'}, {'\r', 'r'}, {'\t', 't'}, {'\b', 'b'}, {'\f', 'f'}};

// Edges over the bytes of `low` to `high`, which have one length and, byte by byte, the same or the
// largest ranges.
void add_sequence(Automaton& a, int32_t from, int32_t to, std::string_view low,
                  std::string_view high) {
  for (size_t i = 0; i < low.size(); ++i) {
    const int32_t next = i + 1 == low.size() ? to : a.add_state();
    a.byte(from, static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i]), next);
    from = next;
  }
}

// Splits a span until the last bytes of its ends go through all values where the bytes before them
// differ (Thompson's construction for UTF-8, as in grep and RE2).
void add_span(Automaton& a, int32_t from, int32_t to, uint32_t first, uint32_t last) {
  for (const uint32_t edge : {0x7Fu, 0x7FFu, 0xFFFFu})
    if (first <= edge && last > edge) {
      add_span(a, from, to, first, edge);
      return add_span(a, from, to, edge + 1, last);
    }
  for (int bits = 6; bits <= 18; bits += 6) {
    const uint32_t low = (1u << bits) - 1;
    if (last <= 0x7F || (first & ~low) == (last & ~low)) continue;
    if ((first & low) != 0) {
      add_span(a, from, to, first, first | low);
      return add_span(a, from, to, (first | low) + 1, last);
    }
    if ((last & low) != low) {
      add_span(a, from, to, first, (last & ~low) - 1);
      return add_span(a, from, to, last & ~low, last);
    }
  }
  std::string begin, end;
  append_utf8(begin, first);
  append_utf8(end, last);
  add_sequence(a, from, to, begin, end);
}

// One to `most` digits, then `end`.
void add_digits(Automaton& a, int32_t from, int64_t most, int32_t end) {
  for (int64_t i = 0; i < most; ++i) {
    const int32_t next = a.add_state();
    a.byte(from, '0', '9', next);
    a.free(next, end);
    from = next;
  }
}

}  // namespace

CodeSet normalized(CodeSet set) {
  CodeSet parts;
  for (const CodeSpan& s : set) {  // surrogates have no UTF-8 form
    if (s.first < 0xD800) parts.push_back({s.first, std::min(s.last, 0xD7FFu)});
    if (s.last > 0xDFFF) parts.push_back({std::max(s.first, 0xE000u), std::min(s.last, kLastCode)});
  }
  std::sort(parts.begin(), parts.end());
  CodeSet out;
  for (const CodeSpan& s : parts) {
    if (s.first > s.last) continue;
    if (!out.empty() && s.first <= out.back().last + 1)
      out.back().last = std::max(out.back().last, s.last);
    else
      out.push_back(s);
  }
  return out;
}

CodeSet complement(const CodeSet& set) {
  CodeSet out;
  uint32_t next = 0;
  for (const CodeSpan& s : set) {
    if (s.first > next) out.push_back({next, s.first - 1});
    next = s.last + 1;
  }
  if (next <= kLastCode) out.push_back({next, kLastCode});
  return normalized(std::move(out));
}

bool contains_code(const CodeSet& set, uint32_t code) {
  return std::any_of(set.begin(), set.end(),
                     [&](const CodeSpan& s) { return s.first <= code && code <= s.last; });
}

void add_utf8(Automaton& a, int32_t from, int32_t to, const CodeSet& set) {
  for (const CodeSpan& s : set) add_span(a, from, to, s.first, s.last);
}

void add_string_chars(Automaton& a, int32_t from, int32_t to, const CodeSet& set) {
  CodeSet plain;
  for (const CodeSpan& s : set)
    for (const CodeSpan& part : {CodeSpan{0x20, 0x21}, {0x23, 0x5B}, {0x5D, kLastCode}}) {
      const CodeSpan both{std::max(s.first, part.first), std::min(s.last, part.last)};
      if (both.first <= both.last) plain.push_back(both);
    }
  add_utf8(a, from, to, normalized(std::move(plain)));
  int32_t escape = -1;
  for (const auto& [code, letter] : kEscapes) {
    if (!contains_code(set, code)) continue;
    if (escape < 0) escape = a.text(from, "\\");
    a.byte(escape, static_cast<uint8_t>(letter), static_cast<uint8_t>(letter), to);
  }
}

template <class Build>
int32_t StringRules::once(int32_t& rule, const Build& build) {
  if (rule >= 0) return rule;
  const Automaton::Rule r = a_.add_rule();
  rule = r.number;
  build(r.start, r.end);
  return r.number;
}

int32_t StringRules::any_char() {
  return once(char_, [&](int32_t start, int32_t end) {
    add_string_chars(a_, start, end, complement({}));
    // \uXXXX, but no half of a surrogate pair: D800 to DFFF.
    const auto hex = [&](int32_t from, int32_t to) {
      a_.byte(from, '0', '9', to);
      a_.byte(from, 'A', 'F', to);
      a_.byte(from, 'a', 'f', to);
    };
    const int32_t u = a_.text(start, "\\u"), d = a_.add_state(), second = a_.add_state(),
                  third = a_.add_state(), fourth = a_.add_state();
    for (const auto& [first, last] :
         {std::pair{'0', '9'}, {'A', 'C'}, {'E', 'F'}, {'a', 'c'}, {'e', 'f'}})
      a_.byte(u, static_cast<uint8_t>(first), static_cast<uint8_t>(last), second);
    for (const char c : {'d', 'D'}) a_.byte(u, static_cast<uint8_t>(c), static_cast<uint8_t>(c), d);
    a_.byte(d, '0', '7', third);
    hex(second, third);
    hex(third, fourth);
    hex(fourth, end);
  });
}

int32_t StringRules::any_string() {
  const int32_t one = any_char();
  return once(string_, [&](int32_t start, int32_t end) {
    const int32_t inside = a_.text(start, "\"");
    a_.call(inside, one, inside);
    a_.byte(inside, '"', '"', end);
  });
}

// Digits are bounded: every number ends, and a double holds it.
int32_t StringRules::any_number() {
  return once(number_, [&](int32_t start, int32_t end) {
    const int32_t whole = a_.add_state(), after = a_.add_state(), power = a_.add_state();
    a_.byte(start, '-', '-', whole);
    a_.free(start, whole);
    a_.byte(whole, '0', '0', after);
    const int32_t digit = a_.add_state();
    a_.byte(whole, '1', '9', digit);
    a_.free(digit, after);
    add_digits(a_, digit, kMostDigits - 1, after);
    a_.free(after, power);
    add_digits(a_, a_.text(after, "."), kMostDigits, power);
    a_.free(power, end);
    const int32_t sign = a_.add_state(), exponent = a_.add_state();
    for (const char e : {'e', 'E'})
      a_.byte(power, static_cast<uint8_t>(e), static_cast<uint8_t>(e), sign);
    for (const char s : {'+', '-'})
      a_.byte(sign, static_cast<uint8_t>(s), static_cast<uint8_t>(s), exponent);
    a_.free(sign, exponent);
    add_digits(a_, exponent, 2, end);
  });
}

int32_t StringRules::white_space() {
  constexpr int kMostIndent = 20;
  return once(space_, [&](int32_t start, int32_t end) {
    a_.byte(start, ' ', ' ', end);
    int32_t at = a_.text(start, "\n");
    a_.free(at, end);
    for (int i = 0; i < kMostIndent; ++i) {
      const int32_t next = a_.add_state();
      a_.byte(at, ' ', ' ', next);
      a_.byte(at, '\t', '\t', next);
      a_.free(next, end);
      at = next;
    }
  });
}

int32_t StringRules::one_of(const CodeSet& set) {
  const auto [it, is_new] = sets_.try_emplace(set, -1);
  return once(it->second,
              [&](int32_t start, int32_t end) { add_string_chars(a_, start, end, set); });
}

void StringRules::maybe_space(int32_t from, int32_t to) {
  a_.free(from, to);
  a_.call(from, white_space(), to);
}

}  // namespace hone
