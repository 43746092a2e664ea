// Bodies of OpenAI's API as settings, without a model.
#include <gtest/gtest.h>

#include "operate/serve/openai/openai_request.h"
#include "operate/serve/openai/response_answer.h"
#include "operate/serve/openai/response_format.h"

namespace hone {
namespace {

enum class Kind { completion, chat, response };

Result<OpenaiSettings> read(Kind kind, const std::string& text) {
  const Json body = parse_json(text, "test").value();
  if (kind == Kind::completion) return read_completion(body, text);
  const OrderedJson ordered = parse_ordered_json(text, "test").value();
  if (kind == Kind::chat) return read_chat_settings(body, ordered, 100);
  return read_response_settings(body, ordered, 100);
}

// The defaults of OpenAI's reference, as its clients may send them.
TEST(OpenaiRequest, TakesEveryDefault) {
  const OpenaiSettings c =
      read(Kind::completion, R"({"model": "m", "prompt": "a", "best_of": 1, "echo": false,
      "frequency_penalty": 0, "logit_bias": null, "logprobs": null, "max_tokens": 16, "n": 1, "presence_penalty": 0,
      "seed": null, "stop": null, "stream": false, "stream_options": null, "suffix": null, "temperature": 1,
      "top_p": 1, "user": "u"})")
          .value();
  EXPECT_EQ((*c.settings)["max_new_tokens"], 16);
  EXPECT_EQ((*c.settings)["do_sample"], true);
  EXPECT_FALSE(c.form->top_logprobs);
  const OpenaiSettings chat = read(Kind::chat, R"({"model": "m", "messages": [], "store": false,
      "metadata": {"a": "b"}, "frequency_penalty": 0, "logit_bias": null, "logprobs": false, "top_logprobs": null,
      "max_completion_tokens": null, "n": 1, "modalities": ["text"], "prediction": null, "audio": null,
      "presence_penalty": 0, "response_format": {"type": "text"}, "seed": 5, "service_tier": "auto", "stop": [],
      "stream": true, "stream_options": {"include_usage": true}, "temperature": 0, "top_p": 1, "tools": [],
      "tool_choice": "none", "parallel_tool_calls": true, "user": "u", "functions": [], "function_call": "none",
      "reasoning_effort": "low", "verbosity": "medium", "web_search_options": null, "safety_identifier": "s",
      "prompt_cache_key": "k"})")
                                  .value();
  EXPECT_EQ((*chat.settings)["max_new_tokens"], 100);
  EXPECT_EQ((*chat.settings)["do_sample"], false);
  EXPECT_TRUE(chat.stream && chat.usage);
  EXPECT_FALSE(chat.form->language);
  const OpenaiSettings r =
      read(Kind::response, R"({"model": "m", "input": "a", "instructions": null,
      "background": false, "include": null, "max_output_tokens": null, "max_tool_calls": null, "metadata": {},
      "parallel_tool_calls": true, "previous_response_id": null, "reasoning": null, "service_tier": "auto",
      "store": false, "stream": false, "temperature": 1, "text": {"format": {"type": "text"}}, "tool_choice": "auto",
      "tools": [], "top_logprobs": 0, "top_p": 1, "truncation": "disabled", "user": "u"})")
          .value();
  EXPECT_EQ((*r.settings)["max_new_tokens"], 100);
}

TEST(OpenaiRequest, RefusesOtherValuesByName) {
  const auto message = [](Kind kind, const std::string& key, const std::string& value) {
    const auto r = read(kind, "{\"model\": \"m\", \"" + key + "\": " + value + "}");
    EXPECT_FALSE(r.ok()) << key;
    return r.ok() ? "" : r.error().text();
  };
  for (const auto& [kind, key, value] :
       {std::tuple{Kind::completion, "suffix", "\"x\""},
        {Kind::completion, "store", "true"},
        {Kind::completion, "logprobs", "21"},
        {Kind::completion, "logprobs", "true"},
        {Kind::completion, "max_tokens", "0"},
        {Kind::completion, "echo", "1"},
        {Kind::completion, "n", "65"},
        {Kind::completion, "best_of", "2"},
        {Kind::completion, "stream_options", "{\"other\": 1}"},
        {Kind::chat, "logprobs", "3"},
        {Kind::chat, "top_logprobs", "3"},
        {Kind::chat, "audio", "{\"voice\": \"a\"}"},
        {Kind::chat, "modalities", "[\"text\", \"audio\"]"},
        {Kind::chat, "service_tier", "\"flex\""},
        {Kind::chat, "functions", "[{}]"},
        {Kind::chat, "response_format", "{\"type\": \"xml\"}"},
        {Kind::chat, "response_format",
         "{\"type\": \"json_schema\", \"json_schema\": {\"name\": \"a\"}}"},
        {Kind::response, "tools", "[{\"type\": \"web_search\"}]"},
        {Kind::response, "store", "true"},
        {Kind::response, "previous_response_id", "\"resp_1\""},
        {Kind::response, "background", "true"},
        {Kind::response, "include", "[\"file_search_call.results\"]"},
        {Kind::response, "seed", "1"},
        {Kind::response, "truncation", "\"auto\""},
        {Kind::response, "text", "{\"verbosity\": \"low\"}"},
        {Kind::response, "top_p", "2"}}) {
    const std::string said = message(kind, key, value);
    EXPECT_NE(said.find(key), std::string::npos) << said;
  }
  const auto both =
      read(Kind::chat,
           R"({"tools": [{"type": "function"}], "response_format": {"type": "json_object"}})");
  EXPECT_FALSE(both.ok());
}

TEST(OpenaiRequest, ReadsWhatIsReportedAndTheForm) {
  const OpenaiSettings echo =
      read(Kind::completion, R"({"prompt": "a", "echo": true, "max_tokens": 0, "logprobs": 2})")
          .value();
  EXPECT_TRUE(echo.only_prompt && echo.echo && echo.form->prompt_logprobs);
  EXPECT_EQ(echo.form->top_logprobs, 2);
  const OpenaiSettings chat =
      read(Kind::chat, R"({"logprobs": true, "response_format": {"type": "json_schema",
      "json_schema": {"name": "n", "strict": true, "schema": {"type": "integer"}}}})")
          .value();
  EXPECT_EQ(chat.form->top_logprobs, 0);
  EXPECT_TRUE(chat.form->language);
  const auto wrong =
      read(Kind::response, R"({"text": {"format": {"type": "json_schema", "name": "n",
      "schema": {"properties": {"a": {"uniqueItems": true}}}}}})");
  ASSERT_FALSE(wrong.ok());
  EXPECT_EQ(std::string(wrong.error().code()), "H2511");
  EXPECT_EQ(wrong.error().where().back(), "text.format");
}

TEST(OpenaiRequest, InputsOfResponsesAreChats) {
  const auto messages = [](const char* text) {
    const auto m = response_messages(parse_ordered_json(text, "test").value());
    return m.ok() ? dump_json(*m) : std::string(m.error().code());
  };
  EXPECT_EQ(messages(R"({"instructions": "i", "input": "a"})"),
            R"([{"role": "system", "content": "i"}, {"role": "user", "content": "a"}])");
  EXPECT_EQ(
      messages(
          R"({"input": [{"type": "message", "role": "user", "content": [{"type": "input_text", "text":
      "a"}]}, {"role": "assistant", "content": "b"}]})"),
      R"([{"role": "user", "content": [{"type": "text", "text": "a"}]}, {"role": "assistant", "content": "b"}])");
  for (const char* bad :
       {"{}", R"({"input": []})", R"({"input": [{"type": "function_call_output"}]})",
        R"({"input": [{"role": "user", "content": [{"type": "input_image"}]}]})",
        R"({"input": [{"content": "a"}]})", R"({"instructions": 1, "input": "a"})"})
    EXPECT_EQ(messages(bad), "H3415") << bad;
}

}  // namespace
}  // namespace hone
