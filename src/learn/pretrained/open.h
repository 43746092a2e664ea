// Parts of open_pretrained for those who need no model.
#pragma once

#include "learn/pretrained/pretrained.h"
#include "learn/tokenizers/load/load.h"

namespace hone {

// The tokenizer alone of a folder, a tokenizer.json, a .gguf file or a hub name; no config needed.
Result<Tokenizer> open_tokenizer(const std::string& name, const OpenOptions& options = {},
                                 const TokenizerSide& side = {});

}  // namespace hone
