// Truncates texts and pairs that are too long.
//
// The rules are those of huggingface/tokenizers utils/truncation.rs, which the fast tokenizers of Transformers use: the
// whole text is tokenized, then tokens are removed at one side. The special tokens around the text stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/core/error.h"

namespace hone {

enum class Truncation {
  do_not_truncate,
  // Cuts the longer text of a pair. If that is not enough, cuts both texts to about half of the length.
  longest_first,
  only_first,   // cuts only the first text
  only_second,  // cuts only the second text
};
// The strategy by its name in Transformers; "true" is longest_first, "false" is do_not_truncate. None: an unknown name.
std::optional<Truncation> truncation_named(std::string_view name);

struct TruncateOptions {
  Truncation strategy = Truncation::do_not_truncate;
  int64_t max_length = 0;  // the most tokens, special tokens included; unused with do_not_truncate
  bool left = false;       // true: tokens are removed at the beginning of a text; false: at its end
};

// For each text: the number of tokens that stay.
struct KeptLengths {
  int64_t first = 0, second = 0;
};
// Computes how many tokens stay. `first` and `second` are the numbers of tokens without special tokens; `second` is
// none for a single text. `special` is the number of special tokens. Errors: H2008 the strategy cannot reach
// max_length. Hugging Face tokenizers raises an error too, with one exception: if the special tokens alone are more
// than max_length, it returns more tokens than max_length.
Result<KeptLengths> kept_lengths(int64_t first, std::optional<int64_t> second, int64_t special,
                                 const TruncateOptions& options);

}  // namespace hone
