// The special tokens of a tokenizer as variables for a chat template.
#pragma once

#include "base/core/json.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// {"bos_token": "<s>", ...}: the special tokens that the tokenizer has, as special_tokens_map of Transformers.
OrderedJson token_variables(const TokenizerParts& tokenizer);

}  // namespace hone
