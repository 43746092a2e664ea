// How tokens are chosen and when to end: the keys of generation_config.json and of Transformers'
// generate(), with its names, meanings and defaults (Transformers 5.23).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/core/error.h"
#include "base/core/json.h"

namespace hone {

// When a prompt's beams are done: as soon as num_beams hypotheses ended; when no running beam of
// this length could still win; or only when none of any length could.
enum class EarlyStopping { no, yes, never };

struct GenerationConfig {
  // Length, in tokens. max_new_tokens wins over max_length (which counts the prompt).
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
  bool renormalize_logits = false;  // what the rules leave sums to one again; only beams differ
  // Sampling only.
  double temperature = 1;
  int64_t top_k = 50;  // 0: all
  double top_p = 1;
  std::optional<double> min_p;
  uint64_t seed = 42;

  // The length (prompt included) at which a continuation of that prompt ends; `positions` is the
  // model's maximum. 20 new tokens where nothing is set.
  int64_t end_length(int64_t prompt, int64_t positions) const;
  bool has_length() const { return max_length.has_value() || max_new_tokens.has_value(); }
};

// Takes over the keys of a generation_config.json (H2501, H2502). `place` appears in errors. Keys without effect on
// tokens are passed over; one that would change them and is not supported is an Error that names it.
Status apply_generation_json(GenerationConfig& c, const nlohmann::json& json,
                             const std::string& place);

// The settings of one request over those of the model: keys of generation_config.json and `seed`. A
// length given here replaces either length of the model. A key that is neither is an Error (H2501) with the
// nearest name.
Status apply_request_json(GenerationConfig& c, const nlohmann::json& json,
                          const std::string& place);

// The keys that apply_generation_json takes over.
std::vector<std::string> generation_keys();

// Values that fit together and suit a model of that vocabulary. Names are the flags' as users type
// them.
Status check_generation(const GenerationConfig& c, int64_t vocab);

}  // namespace hone
