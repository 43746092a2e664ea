// Turns prompts into tokens and generated tokens into text; finds the settings that a model's files give.
#pragma once

#include "learn/generate/generate.h"

namespace hone {

struct PromptRow {
  std::optional<std::string> text;  // none: the row was given as tokens
  std::vector<int32_t> tokens;      // given, or filled in by encode_prompts()
};

// Reads a file with one JSON object on each line, {"prompt": "..."} or {"prompt_tokens": [1, 2]}. "-" is standard
// input; blank lines are skipped. Errors name file:line: H2504 a row has another form, or the file has no rows; H0001 a
// line is not JSON; those of reading the file.
Result<std::vector<PromptRow>> read_prompt_file(const std::string& path);

// Fills in the tokens of the rows that have text. `begin`: the token that replaces an empty prompt; none: an empty
// prompt has no tokens.
void encode_prompts(std::vector<PromptRow>& rows, const Tokenizer& tokenizer,
                    const EncodeOptions& options, std::optional<int32_t> begin);

// Makes the prompts for Generator::run() from rows with tokens. For an encoder-decoder the rows become the sources,
// and the decoder begins with its start token. H2501: no file or setting gives this start token.
Result<std::vector<Prompt>> generator_prompts(const std::vector<PromptRow>& rows,
                                              const GenerationConfig& config,
                                              const ModelConfig& model);

// The target language of a multilingual translation model. forced_bos_token: the token with which each generated text
// begins. target_lang: a language code, such as "de_DE", that becomes the decoder's start token if no file gives one
// (mBART). "" for either: the token does not change.
struct TargetLanguage {
  std::string forced_bos_token, target_lang;
};
// Sets forced_bos_token_id and decoder_start_token_id of `c` to the tokens of `wanted`, and returns the keys that it
// set with their values. H2501: the tokenizer does not have the token; the message names the flag.
Result<nlohmann::json> apply_target_language(GenerationConfig& c, const TargetLanguage& wanted,
                                             const Tokenizer& tokenizer, const ModelConfig& model);

// The text of the new tokens `tokens`, which follow `prompt`, without special tokens.
std::string continuation_text(const Tokenizer& tokenizer, std::span<const int32_t> prompt,
                              std::span<const int32_t> tokens);

// The model's generation settings, from generation_config.json. Without this file: the ids of begin, end and padding
// token in config.json; for an encoder-decoder every generation key in config.json, where older models keep them.
// Errors: those of apply_generation_json().
Result<GenerationConfig> generation_of(const Pretrained& model);

// The text to put before each prompt: `given`, or, if it is none, the source_prefix with which the model was trained
// (hone_task.json).
std::string prompt_prefix(const Pretrained& model, const std::optional<std::string>& given);

// Whether prompts should be given to the model as chats: its tokenizer has a chat template, its head is causal_lm, and
// hone_task.json does not say that the model was trained on plain texts.
bool knows_chats(const Pretrained& model);

// The maximum length of an encoder-decoder's output, in tokens, if no file or flag gives one: the default
// max_target_length of Transformers' run_summarization.
inline constexpr int64_t kDefaultTargetLength = 128;

// Sets values of `c` from a task in task_specific_params of config.json, for keys that generation_config.json does not
// have. Does nothing if `c` already has a length. The task is the one whose "prefix" begins every row's text; if there
// is only one task, it is taken without this test. Returns the task's name; "": no task was found. Errors: those of
// apply_generation_json().
Result<std::string> apply_task_params(GenerationConfig& c, const Pretrained& model,
                                      std::span<const PromptRow> rows);

}  // namespace hone
