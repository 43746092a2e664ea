// Encodes texts with a tokenizer on all threads of a pool: single texts, pairs of texts, or lists of words.
#pragma once

#include <span>
#include <string_view>

#include "base/core/threads.h"
#include "learn/data/rows/tagged_rows.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The model's tokenizer, never null; it belongs to `model`. Errors: H2413 the model has none.
Result<const Tokenizer*> tokenizer_of(const Pretrained& model);

// Encodes first[i] or, unless `second` is empty, the pair of first[i] and second[i], and calls take(i, row) with the
// tokens: once for each i, from several threads and in any order. Rows have at most `max_length` tokens, with the
// special tokens; tokens of the longer text of a pair are removed first. Errors: those of Tokenizer::encode_to.
Status encode_texts(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::string_view> first,
                    std::span<const std::string_view> second,
                    FunctionRef<void(size_t i, const Encoding& row)> take);

// Encodes each word of rows[i] by itself and sets out[i] to the tokens of all of them with the special tokens around
// them. `out` has the size of `rows`. Rows have at most `max_length` tokens; special tokens are never removed. Errors:
// H2008 `max_length` has no room for the special tokens and one more.
Status encode_words(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::vector<std::string>> rows, std::span<EncodedWords> out);

}  // namespace hone
