// Finds for each token the part of the text that it stands for.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "learn/tokenizers/tokenizer.h"

namespace hone {

struct TokenSpan {
  // Bytes [begin, end) of the text, without white space at the ends. begin == end: the token stands for no part of it.
  size_t begin = 0, end = 0;
};

// One span for each id. `ids` are the tokens of `text` without special tokens. The spans correspond to `offsets` of
// Hugging Face tokenizers, but in bytes. A token for a part of a character gets the span of the whole character. An
// unknown token gets the span of the word that it replaces.
std::vector<TokenSpan> token_spans(const Tokenizer& tokenizer, std::string_view text,
                                   std::span<const int32_t> ids);

}  // namespace hone
