// Detects training data whose rows have only special tokens, such as <s> and </s>.
#pragma once

#include <span>

#include "learn/data/rows/token_rows.h"
#include "learn/tokenizers/tokenizer.h"
#include "learn/train/settings.h"

namespace hone {

// H2428 if all rows have only special tokens and --allow does not have "special_tokens". `axes`: the rows' tokens on
// each axis of the task.
Status check_special_rows(std::span<const TokenRows> axes, const Tokenizer& tokenizer,
                          const TrainSettings& s);

}  // namespace hone
