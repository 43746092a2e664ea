// Tables of Unicode code points for unicode.cc and bert_chars.cc, in ascending order. tools/golden_tokenizers.py
// generates their data.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

struct CodeRange {
  uint32_t first, last;  // inclusive
};
std::span<const CodeRange> letter_ranges();  // the general categories L*
std::span<const CodeRange> number_ranges();  // the general categories N*

// Classes of BertNormalizer and BertPreTokenizer in Hugging Face tokenizers (Unicode 8).
std::span<const CodeRange> mark_ranges();         // category Mn: accents
std::span<const CodeRange> control_ranges();      // characters that the option clean_text removes
std::span<const CodeRange> punctuation_ranges();  // categories P* and ASCII symbols

struct CodePair {
  uint32_t from, to;
};
// Pairs of a letter and its lower case, for letters that are too new for some versions of utf8proc.
std::span<const CodePair> young_lower_case();

}  // namespace hone
