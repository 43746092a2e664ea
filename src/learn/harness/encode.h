// Texts, alone, in pairs or word by word, through a tokenizer on all threads.
#pragma once

#include <span>
#include <string_view>

#include "base/core/threads.h"
#include "learn/data/rows/tagged_rows.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The model's tokenizer. Errors: H2413 when there is none.
Result<const Tokenizer*> tokenizer_of(const Pretrained& model);

// `take(i, row)` gets text i, with its partner unless `second` is empty, cut to `max_length`
// tokens, the longer of a pair first; from several threads, each i once. Errors: those of
// Tokenizer::encode_to.
Status encode_texts(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::string_view> first,
                    std::span<const std::string_view> second,
                    FunctionRef<void(size_t i, const Encoding& row)> take);

// `out[i]` gets the tokens of the words of row i, each word by itself, cut to `max_length` tokens with
// the special ones, which stay. Errors: kSequenceTooShort.
Status encode_words(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::vector<std::string>> rows, std::span<EncodedWords> out);

}  // namespace hone
