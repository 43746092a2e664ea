// Tables of Unicode code points in ascending order, for the character classes and lower case of unicode.h and for
// BERT's tokenizers (learn/tokenizers/text/bert_chars.h). tools/golden_tokenizers.py generates their data from Hugging
// Face tokenizers.
#pragma once

#include <cstdint>
#include <span>

namespace hone {

// The code points from `first` to `last`.
struct CodeRange {
  uint32_t first, last;  // inclusive
};

// \p{L} and \p{N} in the regular expressions of Hugging Face tokenizers (Unicode 17).
std::span<const CodeRange> letter_ranges();  // the general categories L*
std::span<const CodeRange> number_ranges();  // the general categories N*

// The sets of characters that BertNormalizer and BertPreTokenizer of Hugging Face tokenizers use (Unicode 8).
std::span<const CodeRange> mark_ranges();     // accents: the general category Mn
std::span<const CodeRange> control_ranges();  // characters that the option clean_text removes
std::span<const CodeRange>
punctuation_ranges();  // the general categories P*, and ASCII symbols such as "$"

// A letter (`from`) and its lower case (`to`).
struct CodePair {
  uint32_t from, to;
};
// Pairs in ascending order of `from`, for letters that an old version of the library utf8proc may not know, such as
// those newer than Unicode 14. utf8proc maps all other letters.
std::span<const CodePair> young_lower_case();

}  // namespace hone
