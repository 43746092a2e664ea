// Encodes texts on all threads: alone, in pairs or word by word.
#pragma once

#include <span>
#include <string_view>

#include "base/core/threads.h"
#include "learn/data/rows/tagged_rows.h"
#include "learn/pretrained/pretrained.h"

namespace hone {

// The model's tokenizer. Errors: H2413 if it has none.
Result<const Tokenizer*> tokenizer_of(const Pretrained& model);

// Calls `take(i, row)` with text i, and its partner unless `second` is empty, cut to `max_length`
// tokens, the longer of a pair first; from several threads, once for each i. Errors: those of
// Tokenizer::encode_to.
Status encode_texts(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::string_view> first,
                    std::span<const std::string_view> second,
                    FunctionRef<void(size_t i, const Encoding& row)> take);

// Sets `out[i]` to the tokens of the words of row i, each word encoded by itself, cut to
// `max_length` tokens; the special tokens stay. Errors: kSequenceTooShort.
Status encode_words(const Tokenizer& tokenizer, ThreadPool& pool, int64_t max_length,
                    std::span<const std::vector<std::string>> rows, std::span<EncodedWords> out);

}  // namespace hone
