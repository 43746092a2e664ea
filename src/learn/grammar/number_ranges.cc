#include "learn/grammar/number_ranges.h"

#include <algorithm>
#include <string>

#include "learn/grammar/characters.h"

namespace hone {
namespace {

constexpr int64_t kLargestNumber = 999999999999999;  // kMostDigits of them
static_assert(kMostDigits == 15);

uint8_t digit_at(const std::string& text, size_t i) { return static_cast<uint8_t>(text[i]); }

// Numbers of one count of digits, from `low` to `high`. In each place the number may still be equal
// to both, to one of them, or to neither.
void add_same_length(Automaton& a, int32_t from, int32_t to, const std::string& low,
                     const std::string& high) {
  int32_t both = from, lower = -1, upper = -1, inside = -1;
  for (size_t i = 0; i < low.size(); ++i) {
    const bool last = i + 1 == low.size();
    int32_t next_lower = -1, next_upper = -1, next_inside = -1, next_both = -1;
    const auto step = [&](int32_t at, int first, int end, int32_t& next) {
      if (at < 0 || first > end) return;
      if (next < 0) next = last ? to : a.add_state();
      a.byte(at, static_cast<uint8_t>(first), static_cast<uint8_t>(end), next);
    };
    const int l = digit_at(low, i), h = digit_at(high, i);
    if (l == h) {
      step(both, l, l, next_both);
    } else {
      step(both, l, l, next_lower);
      step(both, h, h, next_upper);
      step(both, l + 1, h - 1, next_inside);
    }
    step(lower, l, l, next_lower);
    step(lower, l + 1, '9', next_inside);
    step(upper, h, h, next_upper);
    step(upper, '0', h - 1, next_inside);
    step(inside, '0', '9', next_inside);
    both = next_both, lower = next_lower, upper = next_upper, inside = next_inside;
  }
}

// Whole numbers of at least 0, without leading zeros.
void add_whole(Automaton& a, int32_t from, int32_t to, int64_t low, int64_t high) {
  for (int64_t least = 0, most = 9; least <= high; least = most + 1, most = most * 10 + 9) {
    const int64_t l = std::max(low, least), h = std::min(high, most);
    if (l <= h) add_same_length(a, from, to, std::to_string(l), std::to_string(h));
  }
}

// A point and at most `digits` digits; `above_zero`: the last is not 0.
void add_fraction(Automaton& a, int32_t from, int32_t to, int64_t digits, bool above_zero) {
  int32_t at = a.text(from, ".");
  for (int64_t i = 0; i < digits; ++i) {
    const int32_t next = a.add_state();
    a.byte(at, '0', '9', next);
    a.byte(at, above_zero ? '1' : '0', '9', to);
    at = next;
  }
}

// As many digits of a fraction as keep a double from being rounded to a bound that is not allowed:
// a double tells numbers of 15 digits apart.
int64_t fraction_digits(NumberBound low, NumberBound high) {
  int64_t digits = kMostDigits;
  for (const NumberBound b : {low, high})
    if (b.open)
      digits = std::min(digits, kMostDigits - static_cast<int64_t>(std::to_string(b.value).size()));
  return digits;
}

// Numbers of at least 0 from `low` to `high`.
void add_magnitude(Automaton& a, int32_t from, int32_t to, NumberBound low, NumberBound high,
                   bool whole) {
  const int64_t first = low.value + (low.open ? 1 : 0), last = high.value - (high.open ? 1 : 0);
  if (first <= last) add_whole(a, from, to, first, last);
  if (whole || low.value >= high.value) return;
  const int64_t digits = fraction_digits(low, high);
  if (first < high.value) {
    const int32_t point = a.add_state();
    add_whole(a, from, point, first, high.value - 1);
    add_fraction(a, point, to, digits, false);
  }
  if (low.open) add_fraction(a, a.text(from, std::to_string(low.value)), to, digits, true);
}

}  // namespace

void add_number_range(Automaton& a, int32_t from, int32_t to, std::optional<NumberBound> least,
                      std::optional<NumberBound> most, bool whole) {
  NumberBound low = least.value_or(NumberBound{-kLargestNumber}),
              high = most.value_or(NumberBound{kLargestNumber});
  low.value = std::max(low.value, -kLargestNumber);
  high.value = std::min(high.value, kLargestNumber);
  if (high.value >= 0)
    add_magnitude(a, from, to, low.value >= 0 ? low : NumberBound{0}, high, whole);
  if (low.value >= 0) return;
  const NumberBound down =
      high.value < 0 ? NumberBound{-high.value, high.open} : NumberBound{0, true};
  add_magnitude(a, a.text(from, "-"), to, down, {-low.value, low.open}, whole);
}

}  // namespace hone
