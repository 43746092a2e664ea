// Settings of the modules of sentence-transformers in a model folder.
#pragma once

#include <map>
#include <string>

#include "base/core/error.h"
#include "learn/models/text_embedding.h"

namespace hone {

struct SentenceModules {
  EmbeddingForm form = {};
  int64_t max_seq_length = 0;  // tokens of a text; 0: the model's positions
  std::map<std::string, std::string> prompts = {};
  std::string default_prompt_name = {};
  std::string similarity = "cosine";

  // The prompt of this name; "" names the default one, if there is one. H2286: there is no such prompt.
  Result<std::string> prompt(const std::string& name) const;
};

}  // namespace hone
