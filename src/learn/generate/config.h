// The settings of text generation: the keys of generation_config.json, with the names, meanings and defaults of
// Transformers' generate() (5.23).
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

// When beam search ends for a prompt.
//   no     when no beam, scored at its present length, is better than the worst finished hypothesis (a heuristic)
//   yes    as soon as num_beams hypotheses are finished
//   never  when no beam could become better at any length
enum class EarlyStopping { no, yes, never };

struct GenerationConfig {
  // Lengths in tokens; none: not set. max_length and min_length count the prompt. max_new_tokens takes precedence over
  // max_length, min_new_tokens over min_length.
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

  // Rules that change the scores of the next token, in the order in which they are applied (scores.h).
  double repetition_penalty = 1;             // 1: none
  int64_t no_repeat_ngram_size = 0;          // 0: off
  int64_t encoder_no_repeat_ngram_size = 0;  // n-grams of the encoder's source, else of the prompt
  std::vector<std::vector<int32_t>> bad_words_ids;
  std::optional<int32_t> forced_bos_token_id;
  std::vector<int32_t> forced_eos_token_id;  // a text of the maximum length ends with one of these
  // suppress_tokens are never generated; begin_suppress_tokens are never the first new token.
  std::vector<int32_t> suppress_tokens, begin_suppress_tokens;
  bool renormalize_logits = false;  // log softmax after the rules; changes beam search alone
  // Sampling only.
  double temperature = 1;
  int64_t top_k = 50;           // 0: all tokens
  double top_p = 1;             // 1: all tokens
  std::optional<double> min_p;  // none: off
  uint64_t seed = 42;           // of the random draws

  // Settings that only a request can give. presence_penalty is subtracted once from the score of every token that has
  // been generated, and frequency_penalty once for each time that the token has been generated (OpenAI's formula; the
  // prompt's tokens do not count). logit_bias: (token, number to add to the token's score).
  double presence_penalty = 0, frequency_penalty = 0;
  std::vector<std::pair<int32_t, float>> logit_bias;
  // The generated text must belong to this formal language; its trie must hold the model's vocabulary. Null: any text.
  std::shared_ptr<const TokenGrammar> grammar;
  // n: report the log probability of each new token and of the n most probable tokens in its place, by the model's
  // logits before any rule. none: report no log probabilities.
  std::optional<int64_t> top_logprobs;
  // true: report log probabilities for the prompt's tokens too, but not for an encoder's source.
  bool prompt_logprobs = false;

  // The total length in tokens at which a sequence ends if its prompt has `prompt` tokens. `positions`: the model's
  // maximum length. If no length is set, the sequence ends after 20 new tokens.
  int64_t end_length(int64_t prompt, int64_t positions) const;
  bool has_length() const { return max_length.has_value() || max_new_tokens.has_value(); }
};

// Sets the values of `c` from a generation_config.json. `place` names the file in messages. Null values and keys that
// do not change the generated tokens are ignored. H2501: a value of the wrong type. H2502: a key that would change the
// tokens and is not supported.
Status apply_generation_json(GenerationConfig& c, const nlohmann::json& json,
                             const std::string& place);

// Sets the values of `c`, which has the model's settings, from one request: keys of generation_config.json, `seed`,
// `presence_penalty`, `frequency_penalty` and `logit_bias` ({"token id": number from -100 to 100}). If the request has
// max_length or max_new_tokens, both lengths of the model are dropped. H2501: an unknown key, with the nearest name,
// or a value of the wrong type. H2502: a key that would change the tokens and is not supported.
Status apply_request_json(GenerationConfig& c, const nlohmann::json& json,
                          const std::string& place);

// The keys that apply_generation_json() sets.
std::vector<std::string> generation_keys();

// H2501: a value is out of its range, contradicts another value, or holds a token id that is not below `vocab`. The
// messages name the flags.
Status check_generation(const GenerationConfig& c, int64_t vocab);

}  // namespace hone
