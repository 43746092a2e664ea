// The bytes of a text that each of its tokens stands for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct TokenSpan {
  size_t begin = 0, end = 0;  // without white space around it; empty: the token stands for none
};

// One for each of the ids, which are those of the text without special tokens. As `offsets` of Hugging
// Face tokenizers, in bytes; a token that is a part of a character has all of it. An unknown token has
// the word that it stands for.
std::vector<TokenSpan> token_spans(const Tokenizer& tokenizer, std::string_view text,
                                   std::span<const int32_t> ids);

}  // namespace hone
