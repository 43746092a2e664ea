// JSON of TemplateProcessing, the stage that puts special tokens around texts.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "learn/tokenizers/load/config.h"

namespace hone {

// Tokens that the tokenizer knows, by name. `second` is the segment of B and of the tokens after
// it; A's is 0.
struct PairTemplate {
  std::vector<std::string> before, between, after;  // of a pair
  std::vector<std::string> before_one, after_one;   // of a single text
  int second = 0;
};
Result<std::string> pair_template_json(const PairTemplate& t, const TokenizerParts& parts);

// Puts the given ids around each sequence; the second is of `segment`.
std::string bos_eos_template(const std::string& bos, std::optional<int32_t> bos_id,
                             const std::string& eos, std::optional<int32_t> eos_id,
                             int segment = 1);

// Makes the post-processor for add_bos_token and add_eos_token. A tokenizer.json has its own
// post-processor, so these keys are used only without one.
Status apply_bos_eos(const TokenizerConfig& config, TokenizerParts& parts);

}  // namespace hone
