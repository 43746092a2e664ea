// Ranges of code points: data of unicode.cc and bert_chars.cc, generated.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

struct CodeRange {
  uint32_t first, last;  // both inside
};
std::span<const CodeRange> letter_ranges();  // general category L*
std::span<const CodeRange> number_ranges();  // N*

// As tokenizers' BertNormalizer and BertPreTokenizer see them (Unicode 8).
std::span<const CodeRange> mark_ranges();         // Mn: the accents
std::span<const CodeRange> control_ranges();      // the characters that clean_text drops
std::span<const CodeRange> punctuation_ranges();  // P* and the ASCII symbols

struct CodePair {
  uint32_t from, to;
};
std::span<const CodePair> young_lower_case();  // letters that utf8proc may not know

}  // namespace hone
