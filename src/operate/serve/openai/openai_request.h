// A body of OpenAI's API as settings of a model:
//   https://platform.openai.com/docs/api-reference
// Defaults are OpenAI's: temperature 1, 16 tokens of a completion, the model's length of a chat. Keys that are not OpenAI's are those of generation_config.json. Log probabilities are those
// of the model, before temperature, penalties and the form of the answer change them, as in vLLM.
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

// `ordered` is the body with its keys in order, as a schema needs them; `text` the body as it came,
// which is parsed in order only if it has a schema. `longest`: tokens of a chat unless the body limits
// them. Errors H3415 with the key, H2511 and H2512 of a schema.
Result<OpenaiSettings> read_completion(const Json& body, const std::string& text);
Result<OpenaiSettings> read_chat_settings(const Json& body, const OrderedJson& ordered,
                                          int64_t longest);
// The settings of /v1/responses. They have one choice.
Result<OpenaiSettings> read_response_settings(const Json& body, const OrderedJson& ordered,
                                              int64_t longest);

Error bad_key(const std::string& key, const std::string& what);  // H3415

}  // namespace hone
