// Reads the body of a request of OpenAI's API as settings of a model:
//   https://platform.openai.com/docs/api-reference
// Defaults are OpenAI's: temperature 1; at most 16 tokens (chat: up to the model's length). Keys that
// OpenAI does not have are those of generation_config.json. Log probabilities are the model's own,
// before temperature, penalties and response formats change them, as in vLLM.
#pragma once

#include "operate/serve/openai/openai_keys.h"
#include "operate/serve/protocol/stop_cutter.h"
#include "operate/serve/route.h"

namespace hone {

inline constexpr int64_t kMostChoices = 64;
inline constexpr int64_t kMostTopLogprobs = 20;

// OpenAI's names of settings, for errors.
std::span<const KeyName> openai_names();

struct OpenaiSettings {
  bool stream = false, usage = false;  // usage: the stream ends with the counts of tokens
  bool echo = false;                   // the prompt comes before the answer
  bool only_prompt = false;            // max_tokens 0 with echo: nothing is written
  bool logprobs = false;
  int64_t choices = 1;
  StopCutter::Stops stops = std::make_shared<const std::vector<std::string>>();
  std::shared_ptr<const Json> settings;  // of TextQuery
  std::shared_ptr<const AnswerForm> form;
};

// `ordered` is the body with its keys in order, as a schema needs them; `text` is the body as
// sent; it is parsed in order only if it has a schema. `longest`: most tokens of a chat if the body
// sets no limit. Errors H3415 with the key, H2511 and H2512 of a schema.
Result<OpenaiSettings> read_completion(const Json& body, const std::string& text);
Result<OpenaiSettings> read_chat_settings(const Json& body, const OrderedJson& ordered,
                                          int64_t longest);
// The settings of /v1/responses. They have one choice.
Result<OpenaiSettings> read_response_settings(const Json& body, const OrderedJson& ordered,
                                              int64_t longest);

Error bad_key(const std::string& key, const std::string& what);  // H3415

}  // namespace hone
