// The special tokens of a tokenizer as a chat template sees them.
#pragma once

#include "base/core/json.h"
#include "learn/tokenizers/tokenizer.h"

namespace hone {

// {"bos_token": "<s>", ...}: those that there are, as Transformers' special_tokens_map.
OrderedJson token_variables(const TokenizerParts& tokenizer);

}  // namespace hone
