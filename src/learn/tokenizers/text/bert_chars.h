// The character classes of BERT's normalizer and pre-tokenizer. Reference: google-research/bert tokenization.py;
// huggingface/tokenizers normalizers/bert.rs, which uses Unicode 8.
#pragma once

#include <cstdint>

#include "base/unicode/unicode.h"

namespace hone {

enum BertChar : uint8_t {
  // Characters that the option clean_text drops: control and similar characters, U+0000 and U+FFFD.
  kBertControl = 1,
  // White_Space of Unicode; white space that is a control character has kBertControl too.
  kBertSpace = 2,
  kBertChinese = 4,  // CJK ideographs, each of which becomes a word
  kBertMark = 8,     // Unicode category Mn: accents
  kBertPunctuation = 16,
  kBertMixed = 32,  // has a canonical decomposition, a combining class or a different lower case
};

// A table with the bits of each character below kClassTableSize. It is built at the first call. Several threads may
// call bert_chars() at the same time.
const uint8_t* bert_chars();

// The bits of any character. `table` is bert_chars().
inline uint8_t bert_char(const uint8_t* table, uint32_t code) {
  if (code < kClassTableSize) return table[code];
  const bool control = code == 0xe0001 || (code >= 0xe0020 && code <= 0xe007f) ||
                       (code >= 0xf0000 && (code & 0xffff) <= 0xfffd && code != kInvalidChar);
  const bool mark = code >= 0xe0100 && code <= 0xe01ef;
  return control ? kBertControl : mark ? kBertMark : 0;
}

}  // namespace hone
