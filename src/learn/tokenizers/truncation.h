// Truncation of texts and pairs that are too long.
//
// The rules follow huggingface/tokenizers utils/truncation.rs, which Transformers' fast tokenizers
// use: the whole text becomes tokens, then tokens are removed at one side; the special tokens
// around it stay.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "base/core/error.h"

namespace hone {

enum class Truncation {
  do_not_truncate,
  longest_first,  // of a pair the longer one, then both to about half each
  only_first,
  only_second,
};
// By Transformers' names, "true" for longest_first and "false" for do_not_truncate.
std::optional<Truncation> truncation_named(std::string_view name);

struct TruncateOptions {
  Truncation strategy = Truncation::do_not_truncate;
  int64_t max_length = 0;  // tokens with the special ones; read only where something may be cut
  bool left = false;       // tokens go at the beginning of a text, else at its end
};

// The number of tokens of the texts that stay.
struct KeptLengths {
  int64_t first = 0, second = 0;
};
// first, second: tokens without special ones, no second one for a single text. special: tokens that
// will be around them. Errors: kSequenceTooShort when the strategy cannot reach the length
// (where tokenizers raises, and where it returns too many tokens because the special ones alone are
// more).
Result<KeptLengths> kept_lengths(int64_t first, std::optional<int64_t> second, int64_t special,
                                 const TruncateOptions& options);

}  // namespace hone
