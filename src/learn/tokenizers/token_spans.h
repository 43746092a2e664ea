// Finds for each token the part of the text that it stands for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct TokenSpan {
  // Bytes [begin, end) of the text, without white space at the ends; empty: no part of it.
  size_t begin = 0, end = 0;
};

// One span for each id. `ids` are the tokens of `text` without special tokens. The spans correspond to `offsets` of
// Hugging Face tokenizers, but in bytes. A token that is only a part of a character has the whole character. An
// unknown token has the word that it replaces.
std::vector<TokenSpan> token_spans(const Tokenizer& tokenizer, std::string_view text,
                                   std::span<const int32_t> ids);

}  // namespace hone
