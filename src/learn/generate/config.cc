#include "learn/generate/config.h"

#include <algorithm>
#include <functional>

#include "learn/generate/errors.h"

namespace hone {
namespace {

using Json = nlohmann::json;

struct Reader {
  const std::string& key;
  const Json& value;
  const std::string& place;

  Error wrong(const char* expected) const {
    return Error(err::kBadGeneration,
                 fmt::format("{} is {}; {} is expected", key,
                             value.dump(-1, ' ', false, Json::error_handler_t::replace), expected))
        .at(place)
        .todo("correct the value");
  }
  Status read(bool& to) const {
    if (!value.is_boolean()) return wrong("true or false");
    to = value.get<bool>();
    return Ok{};
  }
  Status read(int64_t& to) const {
    if (!value.is_number_integer()) return wrong("a whole number");
    to = value.get<int64_t>();
    return Ok{};
  }
  Status read(int32_t& to) const {
    int64_t wide = 0;
    HONE_TRY(read(wide));
    if (wide < 0 || wide > INT32_MAX) return wrong("a token id");
    to = static_cast<int32_t>(wide);
    return Ok{};
  }
  Status read(double& to) const {
    if (!value.is_number()) return wrong("a number");
    to = value.get<double>();
    return Ok{};
  }
  Status read(std::string& to) const {
    if (!value.is_string()) return wrong("text");
    to = value.get<std::string>();
    return Ok{};
  }
  template <class T>
  Status read(std::optional<T>& to) const {
    T v{};
    HONE_TRY(read(v));
    to = v;
    return Ok{};
  }
  // A list, or one value that stands for a list of one.
  template <class T>
  Status read(std::vector<T>& to) const {
    to.clear();
    auto one = [&](const Json& j) -> Status {
      return Reader{key, j, place}.read(to.emplace_back());
    };
    if (!value.is_array()) return one(value);
    for (const Json& j : value) HONE_TRY(one(j));
    return Ok{};
  }
  Status read(std::vector<std::pair<int32_t, float>>& to) const {
    to.clear();
    if (!value.is_object()) return wrong("an object of token ids and numbers");
    for (const auto& [id, bias] : value.items()) {
      const bool digits =
          !id.empty() && id.size() < 10 && id.find_first_not_of("0123456789") == std::string::npos;
      if (!digits || !bias.is_number()) return wrong("an object of token ids and numbers");
      to.emplace_back(std::stoi(id), bias.get<float>());
    }
    return Ok{};
  }
  Status read(EarlyStopping& to) const {
    if (value.is_boolean())
      to = value.get<bool>() ? EarlyStopping::yes : EarlyStopping::no;
    else if (value == "never")
      to = EarlyStopping::never;
    else
      return wrong("true, false or \"never\"");
    return Ok{};
  }
};

// Keys that change tokens unless they have this harmless value.
const std::vector<std::pair<std::string, Json>>& refused_keys() {
  static const std::vector<std::pair<std::string, Json>> keys = {
      {"typical_p", 1.0},
      {"epsilon_cutoff", 0.0},
      {"eta_cutoff", 0.0},
      {"top_h", nullptr},
      {"guidance_scale", 1.0},
      {"sequence_bias", nullptr},
      {"encoder_repetition_penalty", 1.0},
      {"exponential_decay_length_penalty", nullptr},
      {"watermarking_config", nullptr},
      {"num_beam_groups", 1},
      {"diversity_penalty", 0.0},
      {"penalty_alpha", 0.0},
      {"constraints", nullptr},
      {"force_words_ids", nullptr},
      {"dola_layers", nullptr},
      {"max_time", nullptr}};
  return keys;
}

// Every key that hone reads, with the member that it fills.
template <class F>
void each_key(GenerationConfig& c, F&& f) {
  f("max_length", c.max_length);
  f("max_new_tokens", c.max_new_tokens);
  f("min_length", c.min_length);
  f("min_new_tokens", c.min_new_tokens);
  f("eos_token_id", c.eos_token_id);
  f("stop_strings", c.stop_strings);
  f("bos_token_id", c.bos_token_id);
  f("pad_token_id", c.pad_token_id);
  f("decoder_start_token_id", c.decoder_start_token_id);
  f("do_sample", c.do_sample);
  f("num_beams", c.num_beams);
  f("num_return_sequences", c.num_return_sequences);
  f("length_penalty", c.length_penalty);
  f("early_stopping", c.early_stopping);
  f("repetition_penalty", c.repetition_penalty);
  f("no_repeat_ngram_size", c.no_repeat_ngram_size);
  f("encoder_no_repeat_ngram_size", c.encoder_no_repeat_ngram_size);
  f("bad_words_ids", c.bad_words_ids);
  f("forced_bos_token_id", c.forced_bos_token_id);
  f("forced_eos_token_id", c.forced_eos_token_id);
  f("suppress_tokens", c.suppress_tokens);
  f("begin_suppress_tokens", c.begin_suppress_tokens);
  f("renormalize_logits", c.renormalize_logits);
  f("temperature", c.temperature);
  f("top_k", c.top_k);
  f("top_p", c.top_p);
  f("min_p", c.min_p);
}

// Keys of requests alone.
template <class F>
void each_request_key(GenerationConfig& c, F&& f) {
  f("presence_penalty", c.presence_penalty);
  f("frequency_penalty", c.frequency_penalty);
  f("logit_bias", c.logit_bias);
}

std::vector<std::string> request_keys() {
  std::vector<std::string> keys = generation_keys();
  keys.emplace_back("seed");
  GenerationConfig c;
  each_request_key(c, [&](const char* key, auto&) { keys.emplace_back(key); });
  return keys;
}

Status known_tokens(const char* name, const std::vector<int32_t>& ids, int64_t vocab) {
  for (const int32_t id : ids)
    if (id < 0 || id >= vocab)
      return Error(err::kBadGeneration,
                   fmt::format("{} holds token {}, the model has tokens 0 to {}", name, id,
                               vocab - 1))
          .todo("use ids of this model's tokenizer");
  return Ok{};
}

Status check_request_keys(const GenerationConfig& c, int64_t vocab) {
  for (const auto& [name, x] : {std::pair{"presence_penalty", c.presence_penalty},
                                {"frequency_penalty", c.frequency_penalty}})
    if (!(x >= -2 && x <= 2))
      return Error(err::kBadGeneration, fmt::format("{} is {}", name, x))
          .todo("use a number from -2 to 2; 0 means no penalty");
  std::vector<int32_t> biased;
  for (const auto& [id, bias] : c.logit_bias) {
    biased.push_back(id);
    if (!(bias >= -100 && bias <= 100))
      return Error(err::kBadGeneration, fmt::format("logit_bias of token {} is {}", id, bias))
          .todo("use numbers from -100 to 100");
  }
  return known_tokens("logit_bias", biased, vocab);
}

}  // namespace

int64_t GenerationConfig::end_length(int64_t prompt, int64_t positions) const {
  // "As many as there are" may be written as the largest number.
  const auto after = [&](int64_t n) { return n > INT64_MAX - prompt ? INT64_MAX : prompt + n; };
  const int64_t end = max_new_tokens ? after(*max_new_tokens) : max_length.value_or(after(20));
  return std::min(end, positions);
}

Status apply_generation_json(GenerationConfig& c, const Json& json, const std::string& place) {
  if (!json.is_object())
    return Error(err::kBadGeneration, "the generation config is not a JSON object").at(place);
  for (const auto& [name, value] : json.items()) {
    for (const auto& [refused, harmless] : refused_keys())
      if (name == refused && !value.is_null() && value != harmless)
        return Error(err::kGenerationNotOffered,
                     fmt::format("{} = {} is not supported", name,
                                 value.dump(-1, ' ', false, Json::error_handler_t::replace)))
            .at(place)
            .todo(fmt::format("remove the key{}",
                              harmless.is_null() ? "" : ", or set it to " + harmless.dump()));
    if (value.is_null()) continue;
    Reader r{name, value, place};
    Status status = Ok{};
    each_key(c, [&, &name = name](const char* key, auto& to) {
      if (name == key) status = r.read(to);
    });
    HONE_TRY(std::move(status));
  }
  return Ok{};
}

std::vector<std::string> generation_keys() {
  std::vector<std::string> keys;
  GenerationConfig c;
  each_key(c, [&](const char* key, auto&) { keys.emplace_back(key); });
  return keys;
}

Status apply_request_json(GenerationConfig& c, const Json& json, const std::string& place) {
  if (json.is_null()) return Ok{};
  if (!json.is_object())
    return Error(err::kBadGeneration, "the settings are not an object")
        .at(place)
        .todo("give an object, such as {\"max_new_tokens\": 20}");
  const std::vector<std::string> keys = request_keys();
  for (const auto& [key, value] : json.items()) {
    if (std::find(keys.begin(), keys.end(), key) != keys.end()) continue;
    const std::string near = nearest_name(key, keys);
    return Error(err::kBadGeneration, fmt::format("there is no setting '{}'", key))
        .at(place)
        .todo(near.empty() ? "use the keys of generation_config.json"
                           : fmt::format("did you mean '{}'?", near));
  }
  if (json.contains("max_length") || json.contains("max_new_tokens")) {
    c.max_length.reset();
    c.max_new_tokens.reset();
  }
  Json rest = json;
  if (const auto seed = rest.find("seed"); seed != rest.end()) {
    if (!seed->is_number_integer())
      return Error(err::kBadGeneration, "seed is not a whole number").at(place);
    c.seed = static_cast<uint64_t>(seed->get<int64_t>());
    rest.erase(seed);
  }
  Status status = Ok{};
  each_request_key(c, [&](const char* key, auto& to) {
    const auto it = rest.find(key);
    if (it == rest.end()) return;
    const std::string name = key;
    if (status.ok() && !it->is_null()) status = Reader{name, *it, place}.read(to);
    rest.erase(key);
  });
  HONE_TRY(std::move(status));
  return apply_generation_json(c, rest, place);
}

Status check_generation(const GenerationConfig& c, int64_t vocab) {
  auto bad = [](const std::string& what, const std::string& remedy) {
    return Error(err::kBadGeneration, what).todo(remedy);
  };
  if (c.max_new_tokens && *c.max_new_tokens < 1)
    return bad(fmt::format("max_new_tokens is {}", *c.max_new_tokens),
               "ask for at least one new token");
  if (c.max_length && *c.max_length < 1)
    return bad(fmt::format("max_length is {}", *c.max_length),
               "it counts the prompt and the new tokens, so at least 1; or use --max_new_tokens");
  if (c.num_beams < 1)
    return bad(fmt::format("num_beams is {}", c.num_beams),
               "1 is greedy search or sampling, more is beam search");
  if (c.num_return_sequences < 1)
    return bad(fmt::format("num_return_sequences is {}", c.num_return_sequences),
               "ask for at least one");
  if (c.num_beams > 1 && c.num_return_sequences > c.num_beams)
    return bad(fmt::format("num_return_sequences {} is larger than num_beams {}",
                           c.num_return_sequences, c.num_beams),
               "beam search finds num_beams sequences; raise --num_beams");
  if (c.num_beams == 1 && !c.do_sample && c.num_return_sequences > 1)
    return bad(fmt::format("greedy search has one result, num_return_sequences is {}",
                           c.num_return_sequences),
               "add --do_sample, or --num_beams");
  if (c.num_beams > 1 && c.num_beams * 2 > vocab)
    return bad(fmt::format("num_beams {} is too many for {} tokens", c.num_beams, vocab),
               "use fewer beams");
  if (c.do_sample && (!(c.temperature > 0) || std::isinf(c.temperature)))
    return bad(fmt::format("temperature is {}", c.temperature),
               "use a number above 0, or --no_do_sample for greedy search");
  if (c.top_k < 0)
    return bad(fmt::format("top_k is {}", c.top_k), "use 0 for all tokens, or a positive count");
  if (!(c.top_p >= 0 && c.top_p <= 1))
    return bad(fmt::format("top_p is {}", c.top_p), "use a share of probability from 0 to 1");
  if (c.min_p && !(*c.min_p >= 0 && *c.min_p <= 1))
    return bad(fmt::format("min_p is {}", *c.min_p),
               "use a share of the top token's probability from 0 to 1");
  if (!(c.repetition_penalty > 0) || std::isinf(c.repetition_penalty))
    return bad(fmt::format("repetition_penalty is {}", c.repetition_penalty),
               "use a number above 0; 1 means no penalty");
  if (!std::isfinite(c.length_penalty))
    return bad(fmt::format("length_penalty is {}", c.length_penalty),
               "use a finite number; 1 is the average log probability");
  for (const auto& [name, n] : {std::pair{"no_repeat_ngram_size", c.no_repeat_ngram_size},
                                {"encoder_no_repeat_ngram_size", c.encoder_no_repeat_ngram_size}})
    if (n < 0) return bad(fmt::format("{} is {}", name, n), "use 0 for no such rule");
  if (c.min_length < 0 || c.min_new_tokens.value_or(0) < 0)
    return bad("min_length or min_new_tokens is negative", "use 0 for no least length");
  if (c.min_new_tokens.value_or(0) > INT32_MAX)  // the prompt's length is added to it
    return bad(fmt::format("min_new_tokens is {}", *c.min_new_tokens),
               "use a length that a text can have");
  for (const std::string& s : c.stop_strings)
    if (s.empty()) return bad("a stop string is empty", "leave it out");
  for (const auto& word : c.bad_words_ids) {
    if (word.empty()) return bad("bad_words_ids holds an empty list", "remove it");
    HONE_TRY(known_tokens("bad_words_ids", word, vocab));
  }
  HONE_TRY(known_tokens("suppress_tokens", c.suppress_tokens, vocab));
  HONE_TRY(known_tokens("begin_suppress_tokens", c.begin_suppress_tokens, vocab));
  HONE_TRY(known_tokens("forced_eos_token_id", c.forced_eos_token_id, vocab));
  if (c.forced_bos_token_id)
    HONE_TRY(known_tokens("forced_bos_token_id", {*c.forced_bos_token_id}, vocab));
  return check_request_keys(c, vocab);
}

}  // namespace hone
