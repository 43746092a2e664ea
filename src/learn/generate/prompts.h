// Reads prompts and returns continuations as text.
#pragma once

#include "learn/generate/generate.h"

namespace hone {

struct PromptRow {
  std::optional<std::string> text;  // none: tokens were given
  std::vector<int32_t> tokens;
};

// Reads a jsonl file of {"prompt": "..."} or {"prompt_tokens": [...]}; blank lines are allowed; "-"
// is standard input. Errors H2504 and H0001 with file:line.
Result<std::vector<PromptRow>> read_prompt_file(const std::string& path);

// Fills in the tokens of rows with text. An empty text becomes the model's begin token.
void encode_prompts(std::vector<PromptRow>& rows, const Tokenizer& tokenizer,
                    const EncodeOptions& options, std::optional<int32_t> begin);

// Prompts for the generator. The rows of an encoder-decoder are its sources; H2501 if its decoder's
// start token is unknown.
Result<std::vector<Prompt>> generator_prompts(const std::vector<PromptRow>& rows,
                                              const GenerationConfig& config,
                                              const ModelConfig& model);

// The target language of multilingual models: a first token for each text and, if no file gives the
// decoder's start token (mBART), the code of the target language. Empty: unchanged. Returns the
// keys that it sets; H2501 with the flag if the tokenizer lacks a token.
struct TargetLanguage {
  std::string forced_bos_token, target_lang;
};
Result<nlohmann::json> apply_target_language(GenerationConfig& c, const TargetLanguage& wanted,
                                             const Tokenizer& tokenizer, const ModelConfig& model);

// The text of the new tokens after the prompt, without special tokens.
std::string continuation_text(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                              std::span<const int32_t> tokens);

// The model's generation config: its generation_config.json; without one, the token ids of its
// config.json, and for encoder-decoders every key that older folders keep there.
Result<GenerationConfig> generation_of(const Pretrained& model);

// The text before each prompt: the given one, else the source_prefix of the model's training (hone_task.json).
std::string prompt_prefix(const Pretrained& model, const std::optional<std::string>& given);

// Whether the model knows its prompts as chats: it has a chat template, and its training (hone_task.json) read no plain
// texts.
bool knows_chats(const Pretrained& model);

// Maximum length of an encoder-decoder's text if no file or flag gives one: run_summarization's
// default target length.
inline constexpr int64_t kDefaultTargetLength = 128;

// If generation_config.json gives no length, finds the task of config.json's task_specific_params
// by the common prefix of all texts (a single task needs no prefix). Its settings fill the gaps of
// generation_config.json. Returns "" if there is no such task.
Result<std::string> apply_task_params(GenerationConfig& c, const Pretrained& model,
                                      std::span<const PromptRow> rows);

}  // namespace hone
