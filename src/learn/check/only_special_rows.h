// Detects training data whose rows have only special tokens, such as <s> and </s>.
#pragma once

#include <span>

#include "learn/data/rows/token_rows.h"
#include "learn/tokenizers/tokenizer.h"
#include "learn/train/settings.h"

namespace hone {

// Returns H2428 if every row has only special tokens in all of its texts, and --allow does not name "special_tokens".
// `axes`: the tokens of the training rows, one element for each text of a row (source and target, or a single text).
Status check_special_rows(std::span<const TokenRows> axes, const Tokenizer& tokenizer,
                          const TrainSettings& s);

}  // namespace hone
