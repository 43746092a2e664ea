// Adds characters of JSON texts to an Automaton: sets of Unicode code points become edges over the bytes of their UTF-8
// encoding.
#pragma once

#include <map>

#include "learn/grammar/automaton.h"

namespace hone {

struct CodeSpan {
  uint32_t first, last;  // from `first` to `last`, inclusive
  auto operator<=>(const CodeSpan&) const = default;
};
using CodeSet = std::vector<CodeSpan>;

inline constexpr uint32_t kLastCode = 0x10FFFF;

// The same set, normalized: sorted, without overlaps, without surrogates (U+D800 to U+DFFF).
CodeSet normalized(CodeSet set);
// All code points that are not in `set`, which must be normalized; the result is normalized too.
CodeSet complement(const CodeSet& set);
bool contains_code(const CodeSet& set, uint32_t code);

// Adds ways from state `from` to state `to` for one character of a normalized set in UTF-8. A way is a sequence of
// edges.
void add_utf8(Automaton& a, int32_t from, int32_t to, const CodeSet& set);

// Adds ways from `from` to `to` for one character of a normalized set inside a JSON string: unescaped, or as one of the
// short escapes \" \\ \n \r \t \b \f. Other control characters are left out.
void add_string_chars(Automaton& a, int32_t from, int32_t to, const CodeSet& set);

// Rules of the automaton for parts of JSON that occur in many places. Each function creates its rule at the first call,
// and returns the number of the rule at every call.
class StringRules {
 public:
  explicit StringRules(Automaton& a) : a_(a) {}
  int32_t any_char();    // one character inside a string, unescaped or escaped (\uXXXX included)
  int32_t any_string();  // a string with its quotes
  // A number with at most kMostDigits digits before and after the point, and 2 in the exponent.
  int32_t any_number();
  // One space, or a line break with at most 20 spaces or tabs after it.
  int32_t white_space();
  int32_t one_of(const CodeSet& set);  // one character of a normalized set inside a string
  // Adds two ways from state `from` to state `to`: one takes white_space(), and one takes nothing.
  void maybe_space(int32_t from, int32_t to);

 private:
  template <class Build>
  int32_t once(int32_t& rule, const Build& build);

  Automaton& a_;
  int32_t char_ = -1, string_ = -1, number_ = -1, space_ = -1;
  std::map<CodeSet, int32_t> sets_;
};

// The largest number of digits before the point of a number, and after it. A double represents 15 digits exactly.
inline constexpr int64_t kMostDigits = 15;

}  // namespace hone
