// Characters of JSON texts as bytes: sets of code points become edges over their UTF-8 forms.
#pragma once

#include <map>

#include "learn/grammar/automaton.h"

namespace hone {

struct CodeSpan {
  uint32_t first, last;  // both inside
  auto operator<=>(const CodeSpan&) const = default;
};
using CodeSet = std::vector<CodeSpan>;

inline constexpr uint32_t kLastCode = 0x10FFFF;

// Sorted, without overlaps and without surrogates.
CodeSet normalized(CodeSet set);
// All code points that are not in a normalized set.
CodeSet complement(const CodeSet& set);
bool contains_code(const CodeSet& set, uint32_t code);

// Adds edges from `from` to `to` over the UTF-8 forms of a normalized set.
void add_utf8(Automaton& a, int32_t from, int32_t to, const CodeSet& set);

// Adds the characters of a normalized set as JSON strings write them: as they are, or by a short
// escape (\" \\ \n \r \t \b \f). Other control characters are left out.
void add_string_chars(Automaton& a, int32_t from, int32_t to, const CodeSet& set);

// The rules of strings that several places share.
class StringRules {
 public:
  explicit StringRules(Automaton& a) : a_(a) {}
  int32_t any_char();    // one character of a string, also as \uXXXX
  int32_t any_string();  // with its quotes
  int32_t any_number();
  int32_t white_space();               // one space, or a line break with at most 20 spaces or tabs
  int32_t one_of(const CodeSet& set);  // one character of a normalized set
  void maybe_space(int32_t from, int32_t to);

 private:
  template <class Build>
  int32_t once(int32_t& rule, const Build& build);

  Automaton& a_;
  int32_t char_ = -1, string_ = -1, number_ = -1, space_ = -1;
  std::map<CodeSet, int32_t> sets_;
};

inline constexpr int64_t kMostDigits =
    15;  // of a whole number or a fraction: a double has them all

}  // namespace hone
