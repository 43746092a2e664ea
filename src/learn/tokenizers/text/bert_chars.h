// Character classes of BERT's normalizer and pre-tokenizer. Reference: google-research/bert
// tokenization.py; huggingface/tokenizers normalizers/bert.rs, whose Unicode is of version 8.
#pragma once

#include <cstdint>

#include "base/unicode/unicode.h"

namespace hone {

enum BertChar : uint8_t {
  kBertControl = 1,  // dropped by clean_text, as are U+0000 and U+FFFD
  kBertSpace = 2,    // White_Space, and control characters among them have kBertControl too
  kBertChinese = 4,  // CJK ideographs, each a token
  kBertMark = 8,     // Mn: accents
  kBertPunctuation = 16,
  kBertMixed = 32,  // a canonical decomposition, a combining class or a lower case of its own
};

// Bits of each character below kClassTableSize. Built at the first call.
const uint8_t* bert_chars();

inline uint8_t bert_char(const uint8_t* table, uint32_t code) {
  if (code < kClassTableSize) return table[code];
  const bool control = code == 0xe0001 || (code >= 0xe0020 && code <= 0xe007f) ||
                       (code >= 0xf0000 && (code & 0xffff) <= 0xfffd && code != kInvalidChar);
  const bool mark = code >= 0xe0100 && code <= 0xe01ef;
  return control ? kBertControl : mark ? kBertMark : 0;
}

}  // namespace hone
