// Writes the JSON of TemplateProcessing, the post-processor that puts special tokens around texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/tokenizers/load/config.h"

namespace hone {

// The special tokens around a single text A and around a pair A, B. All must be tokens of the tokenizer. `second` is
// the segment id of B and of the tokens after B; all other tokens have the segment id 0.
struct PairTemplate {
  std::vector<std::string> before, between, after;  // for a pair
  std::vector<std::string> before_one, after_one;   // for a single text
  int second = 0;
};
// The JSON of the stage. Errors: H2005 the vocabulary lacks one of the tokens.
Result<std::string> pair_template_json(const PairTemplate& t, const TokenizerParts& parts);

// The JSON of a stage that puts bos before and eos after each text, if their ids are given. `segment` is the segment
// id of the second text and of the special tokens around it.
std::string bos_eos_template(const std::string& bos, std::optional<int32_t> bos_id,
                             const std::string& eos, std::optional<int32_t> eos_id,
                             int segment = 1);

// If the configuration has add_bos_token or add_eos_token, sets the post-processor that they ask for. Do not call it if
// there is a tokenizer.json: that file has its own post-processor.
Status apply_bos_eos(const TokenizerConfig& config, TokenizerParts& parts);

}  // namespace hone
