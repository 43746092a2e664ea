// The special tokens of a tokenizer as variables for a chat template.
#pragma once

#include "base/core/json.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// {"bos_token": "<s>", ...}: the tokenizer's special tokens, in the form of Transformers' special_tokens_map.
OrderedJson token_variables(const TokenizerParts& tokenizer);

}  // namespace hone
