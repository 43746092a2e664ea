// Prompts as users give them and continuations as they read them.
#pragma once

#include "learn/generate/generate.h"

namespace hone {

struct PromptRow {
  std::optional<std::string> text;  // none: tokens were given
  std::vector<int32_t> tokens;
};

// A jsonl file of {"prompt": "..."} or {"prompt_tokens": [...]}, blank lines between them allowed;
// "-" is standard input. Errors H2504 and H0001 with file:line.
Result<std::vector<PromptRow>> read_prompt_file(const std::string& path);

// Fills in the tokens of rows that have text. An empty one begins with the model's begin token.
void encode_prompts(std::vector<PromptRow>& rows, const Tokenizer& tokenizer,
                    const EncodeOptions& options, std::optional<int32_t> begin);

// Prompts for the generator. The rows of an encoder-decoder are its sources; H2501 when nobody says
// with which token its decoder starts.
Result<std::vector<Prompt>> generator_prompts(const std::vector<PromptRow>& rows,
                                              const GenerationConfig& config,
                                              const ModelConfig& model);

// The text of the new tokens as it follows the prompt, without special tokens.
std::string continuation_text(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                              std::span<const int32_t> tokens);

// The generation config that a model comes with: its generation_config.json; without one, the token
// ids of its config.json, and for encoder-decoders every key that older folders keep there.
Result<GenerationConfig> generation_of(const Pretrained& model);

}  // namespace hone
