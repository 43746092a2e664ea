// Encodes texts with a tokenizer on all threads of a pool: single texts, pairs of texts, or lists of words.
#pragma once

#include <span>
#include <string_view>

#include "base/core/threads.h"
#include "learn/data/rows/tagged_rows.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The model's tokenizer, never null; `model` owns it. Errors: H2413 the model has no tokenizer.
Result<const Tokenizer*> tokenizer_of(const Pretrained& model);

// For each i, encodes the text first[i] or, if `second` is not empty, the pair of first[i] and second[i], and calls
// take(i, row) with the tokens. The calls come from several threads of `pool` at the same time and in any order; after
// an Error some i have no call. Rows have at most `max_length` tokens, special tokens included; tokens of the longer
// text of a pair are removed first. Returns after the last call. Errors: those of Tokenizer::encode_to.
Status encode_texts(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::string_view> first,
                    std::span<const std::string_view> second,
                    FunctionRef<void(size_t i, const Encoding& row)> take);

// Encodes each word of rows[i] by itself, and sets out[i] to the tokens of all words of the row with the special tokens
// around them. `out` must have the size of `rows`. Rows have at most `max_length` tokens, special tokens included; if
// there are more, tokens of words are removed, never special tokens. Errors: H2008 `max_length` has no room for the
// special tokens and one more token.
Status encode_words(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::vector<std::string>> rows, std::span<EncodedWords> out);

}  // namespace hone
