#include "operate/serve/openai/openai_request.h"

#include <algorithm>
#include <random>

#include "operate/serve/openai/response_format.h"
#include "operate/serve/protocol/chat_request.h"
#include "operate/serve/protocol/errors.h"

namespace hone {
namespace {

constexpr KeyName kOpenaiNames[] = {{"max_tokens", "max_new_tokens"},
                                    {"max_completion_tokens", "max_new_tokens"},
                                    {"max_output_tokens", "max_new_tokens"},
                                    {"n", "num_return_sequences"},
                                    {"stop", "stop_strings"}};

// Reads single keys; a key that is absent or null leaves `to` unchanged.
class BodyKeys {
 public:
  explicit BodyKeys(const Json& body) : body_(body) {}

  Status number(const char* key, double least, double most, double& to) const {
    const Json& v = value_at(body_, key);
    if (v.is_null()) return Ok{};
    if (!v.is_number()) return bad_key(key, fmt::format("{} is not a number", key));
    if (!(v.get<double>() >= least && v.get<double>() <= most))
      return bad_key(key, fmt::format("{} is not in {} to {}", key, least, most));
    to = v.get<double>();
    return Ok{};
  }
  Status whole(const char* key, int64_t least, int64_t& to) const {
    const Json& v = value_at(body_, key);
    if (v.is_null()) return Ok{};
    if (!v.is_number_integer() || v.get<int64_t>() < least)
      return bad_key(key, least == 1
                              ? fmt::format("{} is not a positive whole number", key)
                              : fmt::format("{} is not a whole number from {} on", key, least));
    to = v.get<int64_t>();
    return Ok{};
  }
  Status flag(const char* key, bool& to) const {
    const Json& v = value_at(body_, key);
    if (v.is_null()) return Ok{};
    if (!v.is_boolean()) return bad_key(key, fmt::format("{} is not true or false", key));
    to = v.get<bool>();
    return Ok{};
  }

 private:
  const Json& body_;
};

// Settings that OpenAI's API does not have.
Json other_settings(const Json& body, std::span<const OpenaiKey> keys, bool chat) {
  Json out = Json::object();
  for (const auto& [key, value] : body.items())
    if (!is_key(keys, key) && !value.is_null() && !(chat && is_chat_key(key))) out[key] = value;
  return out;
}

// OpenAI draws at temperature 1 unless it is 0.
Status read_sampling(const BodyKeys& keys, Json& out) {
  double temperature = 1;
  HONE_TRY(keys.number("temperature", 0, 100, temperature));
  if (!out.contains("do_sample")) out["do_sample"] = temperature > 0;
  if (temperature > 0) out["temperature"] = temperature;
  if (!out.contains("top_k")) out["top_k"] = 0;
  if (!out.contains("seed")) {
    thread_local std::mt19937_64 random{std::random_device{}()};
    out["seed"] = static_cast<int64_t>(random() >> 1);
  }
  return Ok{};
}

Status read_choices(const BodyKeys& keys, Json& out, OpenaiSettings& s) {
  int64_t best = 0;
  HONE_TRY(keys.whole("n", 1, s.choices));
  HONE_TRY(keys.whole("best_of", 1, best));
  if (best > s.choices) return bad_key("best_of", "best_of is not supported").todo("use n");
  if (s.choices > kMostChoices) return bad_key("n", fmt::format("n is more than {}", kMostChoices));
  // Always set: the model's default may differ.
  if (const auto own = out.find("num_return_sequences"); own != out.end() && *own != s.choices)
    return bad_key("num_return_sequences",
                   fmt::format("num_return_sequences is not n, which is {}", s.choices))
        .todo("leave it out and use n");
  out["num_return_sequences"] = s.choices;
  return Ok{};
}

Status read_stops(const Json& body, Json& out, OpenaiSettings& s) {
  const Json& stop = value_at(body, "stop");
  if (stop.is_null()) return Ok{};
  const Json list = stop.is_array() ? stop : Json::array({stop});
  std::vector<std::string> stops;
  for (const Json& one : list) {
    if (!one.is_string() || one.get_ref<const std::string&>().empty() || list.size() > 16)
      return bad_key("stop", "stop is neither a text nor a list of at most 16 texts");
    stops.push_back(one.get<std::string>());
  }
  if (!stops.empty()) out["stop_strings"] = stops;
  s.stops = std::make_shared<const std::vector<std::string>>(std::move(stops));
  return Ok{};
}

Status read_stream(const Json& body, const BodyKeys& keys, OpenaiSettings& s) {
  HONE_TRY(keys.flag("stream", s.stream));
  const Json& options = value_at(body, "stream_options");
  if (options.is_null()) return Ok{};
  if (!options.is_object()) return bad_key("stream_options", "stream_options is not an object");
  for (const auto& [key, value] : options.items())
    if (key != "include_usage" && !(key == "include_obfuscation" && value == Json(false)))
      return bad_key("stream_options", fmt::format("the option '{}' is not supported", key));
  return BodyKeys(options).flag("include_usage", s.usage);
}

Status check_top(const char* key, int64_t top) {
  if (top <= kMostTopLogprobs) return Ok{};
  return bad_key(key, fmt::format("{} is more than {}", key, kMostTopLogprobs));
}

Status read_completion_logprobs(const Json& body, const BodyKeys& keys, OpenaiSettings& s,
                                AnswerForm& form) {
  HONE_TRY(keys.flag("echo", s.echo));
  const Json& wanted = value_at(body, "logprobs");
  if (wanted.is_null() || wanted == Json(false)) return Ok{};
  int64_t top = 0;
  HONE_TRY(keys.whole("logprobs", 0, top));
  HONE_TRY(check_top("logprobs", top));
  s.logprobs = true;
  form.top_logprobs = top;
  form.prompt_logprobs = s.echo;
  if (s.echo && s.stream)
    return bad_key("echo", "echo with logprobs is not streamed").todo("leave out stream");
  return Ok{};
}

Status read_chat_logprobs(const Json& body, const BodyKeys& keys, OpenaiSettings& s,
                          AnswerForm& form) {
  int64_t top = 0;
  HONE_TRY(keys.flag("logprobs", s.logprobs));
  HONE_TRY(keys.whole("top_logprobs", 0, top));
  HONE_TRY(check_top("top_logprobs", top));
  if (!s.logprobs && !value_at(body, "top_logprobs").is_null() && top > 0)
    return bad_key("top_logprobs", "top_logprobs needs logprobs").todo("set logprobs to true");
  if (s.logprobs) form.top_logprobs = top;
  return Ok{};
}

Status read_format(const OrderedJson& ordered, AnswerForm& form) {
  form.language =
      HONE_TRY(language_of_format(value_at(ordered, "response_format"), "response_format"));
  return Ok{};
}

Status read_response_logprobs(const Json& body, const BodyKeys& keys, OpenaiSettings& s,
                              AnswerForm& form) {
  const Json& include = value_at(body, "include");
  if (!include.is_null() && !include.is_array()) return bad_key("include", "include is not a list");
  for (const Json& one : include) {
    if (one != Json("message.output_text.logprobs"))
      return bad_key("include", fmt::format("{} is not supported", dump_json(one)));
    s.logprobs = true;
  }
  int64_t top = 0;
  HONE_TRY(keys.whole("top_logprobs", 0, top));
  HONE_TRY(check_top("top_logprobs", top));
  if (s.logprobs) form.top_logprobs = top;
  if (top > 0 && !s.logprobs)
    return bad_key("top_logprobs", "top_logprobs needs log probabilities")
        .todo("put \"message.output_text.logprobs\" into include");
  return Ok{};
}

Status read_response_text(const Json& body, const OrderedJson& ordered, AnswerForm& form) {
  const Json& wanted = value_at(body, "text");
  if (wanted.is_null()) return Ok{};
  if (!wanted.is_object()) return bad_key("text", "text is not an object");
  for (const auto& [key, value] : wanted.items())
    if (key != "format" && !(key == "verbosity" && value == Json("medium")))
      return bad_key("text", fmt::format("the key '{}' is not supported", key));
  form.language =
      HONE_TRY(language_of_format(value_at(value_at(ordered, "text"), "format"), "text.format"));
  return Ok{};
}

void finish(OpenaiSettings& s, Json settings, AnswerForm form) {
  s.settings = std::make_shared<const Json>(std::move(settings));
  s.form = std::make_shared<const AnswerForm>(std::move(form));
}

}  // namespace

std::span<const KeyName> openai_names() { return kOpenaiNames; }

Error bad_key(const std::string& key, const std::string& what) {
  return Error(err::kServeRequest, what).at(key);
}

Result<OpenaiSettings> read_completion(const Json& body, const std::string& text) {
  HONE_TRY(check_fixed_keys(body, completion_keys()));
  OpenaiSettings s;
  AnswerForm form;
  const BodyKeys keys(body);
  Json out = other_settings(body, completion_keys(), false);
  HONE_TRY(read_stream(body, keys, s));
  HONE_TRY(read_completion_logprobs(body, keys, s, form));
  HONE_TRY(read_sampling(keys, out));
  HONE_TRY(read_choices(keys, out, s));
  int64_t most = 16;
  HONE_TRY(keys.whole("max_tokens", s.echo ? 0 : 1, most));
  s.only_prompt = most == 0;
  out["max_new_tokens"] = std::max<int64_t>(most, 1);
  HONE_TRY(read_stops(body, out, s));
  if (!value_at(body, "response_format").is_null()) {
    const OrderedJson ordered = HONE_TRY(parse_ordered_json(text, "the body"));
    HONE_TRY(read_format(ordered, form));
  }
  finish(s, std::move(out), std::move(form));
  return s;
}

Result<OpenaiSettings> read_chat_settings(const Json& body, const OrderedJson& ordered,
                                          int64_t longest) {
  HONE_TRY(check_fixed_keys(body, chat_keys()));
  OpenaiSettings s;
  AnswerForm form;
  const BodyKeys keys(body);
  Json out = other_settings(body, chat_keys(), true);
  HONE_TRY(read_stream(body, keys, s));
  HONE_TRY(read_chat_logprobs(body, keys, s, form));
  HONE_TRY(read_sampling(keys, out));
  HONE_TRY(read_choices(keys, out, s));
  int64_t most = longest;
  HONE_TRY(keys.whole("max_tokens", 1, most));
  HONE_TRY(keys.whole("max_completion_tokens", 1, most));
  out["max_new_tokens"] = most;
  HONE_TRY(read_stops(body, out, s));
  HONE_TRY(read_format(ordered, form));
  const Json& tools = value_at(body, "tools");
  const bool calls = tools.is_array() && !tools.empty() && text_at(body, "tool_choice") != "none";
  if (calls && form.language)
    return bad_key("response_format", "response_format with tools is not supported")
        .todo("set tool_choice to none, or leave out one of them");
  bool parallel = true;
  HONE_TRY(keys.flag("parallel_tool_calls", parallel));
  if (calls && !parallel)
    return bad_key("parallel_tool_calls", "one call at most is not supported").todo("leave it out");
  finish(s, std::move(out), std::move(form));
  return s;
}

Result<OpenaiSettings> read_response_settings(const Json& body, const OrderedJson& ordered,
                                              int64_t longest) {
  HONE_TRY(check_fixed_keys(body, response_keys()));
  OpenaiSettings s;
  AnswerForm form;
  const BodyKeys keys(body);
  for (const auto& [key, value] : body.items())
    if (!is_key(response_keys(), key) && !value.is_null())
      return bad_key(key, fmt::format("{} is not supported", key)).todo("leave it out");
  Json out = Json::object();
  HONE_TRY(keys.flag("stream", s.stream));
  HONE_TRY(read_sampling(keys, out));
  out["num_return_sequences"] = 1;
  double top_p = 1;
  HONE_TRY(keys.number("top_p", 0, 1, top_p));
  out["top_p"] = top_p;
  int64_t most = longest;
  HONE_TRY(keys.whole("max_output_tokens", 1, most));
  out["max_new_tokens"] = most;
  HONE_TRY(read_response_logprobs(body, keys, s, form));
  HONE_TRY(read_response_text(body, ordered, form));
  finish(s, std::move(out), std::move(form));
  return s;
}

}  // namespace hone
