// Reads the settings of a request body of OpenAI's API:
//   https://platform.openai.com/docs/api-reference
// Defaults are OpenAI's: temperature is 1; max_tokens is 16 for completions, and for chats the model's longest sequence
// is the limit. Completions and chats may also have the keys of generation_config.json. Log probabilities are those of
// the model before temperature, penalties and response formats change them, as in vLLM.
#pragma once

#include "operate/serve/openai/openai_keys.h"
#include "operate/serve/protocol/stop_cutter.h"
#include "operate/serve/route.h"

namespace hone {

inline constexpr int64_t kMostChoices = 64;  // limit for "n", the number of answers to each prompt
// Limit for "top_logprobs", and for a completion's "logprobs".
inline constexpr int64_t kMostTopLogprobs = 20;

// Pairs of OpenAI's name of a setting and its name in generation_config.json, for errors.
std::span<const KeyName> openai_names();

struct OpenaiSettings {
  bool stream = false, usage = false;  // usage: the stream ends with the numbers of tokens
  bool echo = false;                   // the answer begins with the prompt
  bool only_prompt = false;            // return the prompt alone: max_tokens is 0, with echo
  bool logprobs = false;               // return log probabilities
  int64_t choices = 1;                 // number of answers to each prompt
  StopCutter::Stops stops = std::make_shared<const std::vector<std::string>>();
  std::shared_ptr<const Json> settings;    // for TextQuery::settings
  std::shared_ptr<const AnswerForm> form;  // for TextQuery::form
};

// Each function reads the body of one route: /v1/completions, /v1/chat/completions, or /v1/responses (whose answers
// have one choice). `body` is the parsed body. `ordered` is the parsed body with its keys in the order of the request,
// which JSON schemas need. `text` is the unparsed body; it is parsed with ordered keys only if it has a
// response_format. `longest`: the limit for new tokens if the body sets none. Errors: H3415 a key is not supported or
// has a wrong value; H2511 hone does not support the JSON schema; H2512 the schema is wrong or allows no document.
Result<OpenaiSettings> read_completion(const Json& body, const std::string& text);
Result<OpenaiSettings> read_chat_settings(const Json& body, const OrderedJson& ordered,
                                          int64_t longest);
Result<OpenaiSettings> read_response_settings(const Json& body, const OrderedJson& ordered,
                                              int64_t longest);

// Returns error H3415 about this key of the body. `what` is the text of the error.
Error bad_key(const std::string& key, const std::string& what);

}  // namespace hone
