// Settings of search and length: the keys of generation_config.json and of Transformers'
// generate(), with its names, meanings and defaults (Transformers 5.23).
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

struct TokenGrammar;  // learn/grammar/token_masks.h

// The condition for the end of a prompt's beams: as soon as num_beams hypotheses ended; when no
// running beam of this length could still win; or only when none of any length could.
enum class EarlyStopping { no, yes, never };

struct GenerationConfig {
  // Length in tokens. max_new_tokens takes precedence over max_length (which counts the prompt).
  std::optional<int64_t> max_length, max_new_tokens;
  int64_t min_length = 0;
  std::optional<int64_t> min_new_tokens;
  std::vector<int32_t> eos_token_id;
  std::vector<std::string> stop_strings;
  std::optional<int32_t> bos_token_id, pad_token_id, decoder_start_token_id;

  // Search.
  bool do_sample = false;
  int64_t num_beams = 1;
  int64_t num_return_sequences = 1;
  double length_penalty = 1;
  EarlyStopping early_stopping = EarlyStopping::no;

  // Scores, in the order in which they apply.
  double repetition_penalty = 1;
  int64_t no_repeat_ngram_size = 0;
  int64_t encoder_no_repeat_ngram_size = 0;  // of the source; without an encoder of the prompt
  std::vector<std::vector<int32_t>> bad_words_ids;
  std::optional<int32_t> forced_bos_token_id;
  std::vector<int32_t> forced_eos_token_id;
  std::vector<int32_t> suppress_tokens, begin_suppress_tokens;
  bool renormalize_logits = false;  // renormalize scores after the rules; only beams differ
  // Sampling only.
  double temperature = 1;
  int64_t top_k = 50;  // 0: all
  double top_p = 1;
  std::optional<double> min_p;
  uint64_t seed = 42;

  // Requests only. A new token lowers its later scores by presence_penalty once and by
  // frequency_penalty each time (OpenAI's formula; tokens of the prompt do not count); logit_bias is
  // added to scores.
  double presence_penalty = 0, frequency_penalty = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;
  // The answer stays in this language, whose trie has the model's vocabulary; none: any text.
  std::shared_ptr<const TokenGrammar> grammar;
  // Log probabilities of new tokens, with this number of the most probable ones beside each; none:
  // no log probabilities. They are those of the model, before any rule.
  std::optional<int64_t> top_logprobs;
  bool prompt_logprobs = false;  // of the prompt's tokens too; not of an encoder's source

  // The length (prompt included) at which a continuation of that prompt ends; `positions` is the
  // model's maximum. 20 new tokens if nothing is set.
  int64_t end_length(int64_t prompt, int64_t positions) const;
  bool has_length() const { return max_length.has_value() || max_new_tokens.has_value(); }
};

// Reads the keys of a generation_config.json (H2501, H2502). `place` appears in errors. Keys
// without effect on tokens are ignored; an unsupported key that would change them is an Error with
// its name.
Status apply_generation_json(GenerationConfig& c, const nlohmann::json& json,
                             const std::string& place);

// Applies the settings of one request over the model's: keys of generation_config.json, `seed`,
// `presence_penalty`, `frequency_penalty` and `logit_bias` ({"id": -100 to 100}). A length given here replaces either length of the model. An unknown key is an Error (H2501) with
// the nearest name.
Status apply_request_json(GenerationConfig& c, const nlohmann::json& json,
                          const std::string& place);

// The keys that apply_generation_json reads.
std::vector<std::string> generation_keys();

// Checks that the values are consistent and suit a model with that vocabulary (H2501, H2502). Names
// are those of the flags.
Status check_generation(const GenerationConfig& c, int64_t vocab);

}  // namespace hone
