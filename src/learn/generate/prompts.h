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

// What models of many languages write with: a token that each text begins with, and, where no file
// says with what the decoder starts (mBART), the code of the target language. Empty: left as it is.
// Gives the keys that this sets; H2501 with the flag for a token that the tokenizer lacks.
struct TargetLanguage {
  std::string forced_bos_token, target_lang;
};
Result<nlohmann::json> apply_target_language(GenerationConfig& c, const TargetLanguage& wanted,
                                             const Tokenizer& tokenizer, const ModelConfig& model);

// The text of the new tokens as it follows the prompt, without special tokens.
std::string continuation_text(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                              std::span<const int32_t> tokens);

// The generation config that a model comes with: its generation_config.json; without one, the token
// ids of its config.json, and for encoder-decoders every key that older folders keep there.
Result<GenerationConfig> generation_of(const Pretrained& model);

// The maximum length of an encoder-decoder's text if nothing gives one: run_summarization's default
// target length.
inline constexpr int64_t kDefaultTargetLength = 128;

// If generation_config.json gives no length: the task of config.json's
// task_specific_params that the texts are for, by the prefix that all of them begin with (the only
// task, when there is one). Its settings join those that generation_config.json leaves open; ""
// when there is no such task.
Result<std::string> apply_task_params(GenerationConfig& c, const Pretrained& model,
                                      std::span<const PromptRow> rows);

}  // namespace hone
