// The settings of a model of sentence-transformers: how it pools, how long texts may be, and its prompts.
#pragma once

#include <map>
#include <string>

#include "base/core/error.h"
#include "learn/models/text_embedding.h"

namespace hone {

struct SentenceModules {
  EmbeddingForm form = {};     // pooling, dense layers, normalization
  int64_t max_seq_length = 0;  // most tokens of a text; 0: the model's maximum
  // Texts that are put before an input, by name: {"query": "query: "}.
  std::map<std::string, std::string> prompts = {};
  std::string default_prompt_name = {};  // a key of `prompts`; "": no default prompt
  std::string similarity = "cosine";     // how two embeddings are compared: "cosine" or "dot"

  // The text of the prompt `name`. If `name` is "": the text of the default prompt, or "" without a default prompt.
  // H2286: there is no prompt of this name.
  Result<std::string> prompt(const std::string& name) const;
};

}  // namespace hone
