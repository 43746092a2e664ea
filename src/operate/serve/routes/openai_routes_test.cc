// OpenAI's API against a tiny model, over HTTP: log probabilities, penalties, echo, forms of answers
// and responses.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "base/store/http.h"
#include "operate/serve/inference_server.h"
#include "operate/serve/routes/routes.h"

namespace hone {
namespace {

const std::string kTinyText = std::string(HONE_SOURCE_DIR) + "/tests/goldens/tiny_text_gpt2";
const std::string kWritten = "ineinehi S";  // four tokens after "Hello, world"

class OpenaiRoutes : public testing::Test {
 protected:
  // The model "m" with a chat template that is the last message's content.
  static void SetUpTestSuite() {
    namespace fs = std::filesystem;
    const fs::path folder = fs::temp_directory_path() / fmt::format("hone_openai_{}", getpid());
    fs::remove_all(folder);
    fs::copy(kTinyText, folder);
    std::ofstream(folder / "chat_template.jinja")
        << "{% for m in messages %}{% if m.role == 'user' %}{{ m.content }}{% endif %}{% endfor %}";
    ServedOptions o{.threads = 1, .batch_size = 4, .max_length = 128};
    context_ = new ServeContext();
    context_->models.add(ServedModel::load("m", "1", folder.string(), o).value());
    fs::remove_all(folder);
    context_->ready = true;
    server_ = std::move(InferenceServer::start({}, all_serve_api(), *context_).value()).release();
  }
  static void TearDownTestSuite() {
    delete server_;
    delete context_;
  }
  HttpResponse post(const std::string& path, Json body) {
    body["model"] = "m";
    const std::string text = body.dump();
    return http_
        .send({.method = "POST",
               .url = server_->url() + "/v1/" + path,
               .body = std::as_bytes(std::span(text))})
        .value();
  }
  Json ask(const std::string& path, const Json& body) {
    const HttpResponse r = post(path, body);
    EXPECT_EQ(r.status, 200) << r.body;
    return Json::parse(r.body, nullptr, false);
  }
  // The message of a refusal.
  std::string refused(const std::string& path, const Json& body) {
    const HttpResponse r = post(path, body);
    EXPECT_EQ(r.status, 400) << r.body;
    return Json::parse(r.body, nullptr, false)["error"].dump();
  }
  // The data of a stream's events.
  std::vector<Json> events(const std::string& path, Json body) {
    body["stream"] = true;
    const HttpResponse r = post(path, body);
    EXPECT_EQ(r.header("content-type"), "text/event-stream") << r.body;
    std::vector<Json> all;
    for (size_t at = 0; (at = r.body.find("data: {", at)) != std::string::npos; ++at)
      all.push_back(Json::parse(r.body.substr(at + 6, r.body.find('\n', at) - at - 6)));
    return all;
  }

  HttpClient http_{{.retries = 0}};
  static inline ServeContext* context_ = nullptr;
  static inline InferenceServer* server_ = nullptr;
};

Json completion_of(const Json& more) {
  Json body{{"prompt", "Hello, world"}, {"max_tokens", 4}, {"temperature", 0}};
  body.update(more);
  return body;
}
Json chat_of(const Json& more, const std::string& text = "Hello, world") {
  Json body{{"max_tokens", 4}, {"temperature", 0}};
  body["messages"] = Json::array();
  body["messages"].push_back({{"role", "user"}, {"content", text}});
  body.update(more);
  return body;
}

std::string joined(const Json& tokens) {
  std::string text;
  for (const Json& t : tokens) text += t.get<std::string>();
  return text;
}

TEST_F(OpenaiRoutes, CompletionsHaveLogprobsInLists) {
  const Json plain = ask("completions", completion_of(Json::object()))["choices"][0];
  EXPECT_TRUE(plain["logprobs"].is_null());
  const Json c = ask("completions", completion_of({{"logprobs", 2}}))["choices"][0];
  EXPECT_EQ(c["text"], kWritten);
  const Json& l = c["logprobs"];
  EXPECT_EQ(joined(l["tokens"]), kWritten) << l;
  EXPECT_EQ(l["text_offset"][0], 0);
  for (size_t i = 1; i < 4; ++i)
    EXPECT_EQ(l["text_offset"][i].get<size_t>(),
              l["text_offset"][i - 1].get<size_t>() + l["tokens"][i - 1].get<std::string>().size());
  for (size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(l["top_logprobs"][i].size(), 2u);
    EXPECT_EQ(l["top_logprobs"][i][l["tokens"][i].get<std::string>()], l["token_logprobs"][i]);
    EXPECT_LT(l["token_logprobs"][i], 0);
  }
  // A stream has the same tokens, and those after a stop text are left out.
  Json streamed = Json::array();
  for (const Json& e : events("completions", completion_of({{"logprobs", 0}})))
    for (const Json& choice : e["choices"])
      if (!choice["logprobs"].is_null())
        for (const Json& t : choice["logprobs"]["token_logprobs"]) streamed.push_back(t);
  EXPECT_EQ(streamed, l["token_logprobs"]);
  const Json cut =
      ask("completions", completion_of({{"logprobs", 0}, {"stop", "hi"}}))["choices"][0];
  EXPECT_EQ(joined(cut["logprobs"]["tokens"]), cut["text"]);
}

TEST_F(OpenaiRoutes, ChatsHaveLogprobsOfEachToken) {
  const Json c =
      ask("chat/completions", chat_of({{"logprobs", true}, {"top_logprobs", 3}}))["choices"][0];
  EXPECT_EQ(c["message"]["content"], kWritten);
  std::string text;
  for (const Json& t : c["logprobs"]["content"]) {
    text += t["token"].get<std::string>();
    EXPECT_EQ(t["top_logprobs"].size(), 3u);
    EXPECT_EQ(t["top_logprobs"][0]["logprob"], t["logprob"]);  // greedy
    std::string bytes;
    for (const Json& b : t["bytes"]) bytes += static_cast<char>(b.get<int>());
    EXPECT_EQ(bytes, t["token"]);
  }
  EXPECT_EQ(text, kWritten);
  size_t tokens = 0;
  for (const Json& e : events("chat/completions", chat_of({{"logprobs", true}})))
    for (const Json& choice : e["choices"])
      if (!choice["logprobs"].is_null()) tokens += choice["logprobs"]["content"].size();
  EXPECT_EQ(tokens, 4u);
  EXPECT_NE(refused("chat/completions", chat_of({{"top_logprobs", 3}})).find("top_logprobs"),
            std::string::npos);
}

// The log probabilities are the model's: temperature and penalties change none.
TEST_F(OpenaiRoutes, LogprobsAreThoseOfTheModel) {
  const auto first = [&](const Json& more) {
    return ask("completions", completion_of(more))["choices"][0]["logprobs"]["top_logprobs"][0];
  };
  const Json raw = first({{"logprobs", 5}});
  const Json biased = first({{"logprobs", 5}, {"logit_bias", {{"7", 100}}}});
  for (const auto& [token, logprob] : raw.items())
    EXPECT_EQ(biased.value(token, Json()), logprob) << token;
  EXPECT_EQ(biased.size(), 6u);  // and the token that was chosen
}

TEST_F(OpenaiRoutes, BiasAndPenaltiesChooseOtherTokens) {
  const auto text = [&](const Json& more) {
    return ask("completions", completion_of(more))["choices"][0]["text"].get<std::string>();
  };
  const std::string seven =
      context_->models.look_up("m").value()->tokenizer().decode(std::vector<int32_t>{7, 7, 7, 7});
  EXPECT_EQ(text({{"logit_bias", {{"7", 100}}}}), seven);
  // "ine" is written twice unless a penalty is large enough.
  EXPECT_NE(text({{"presence_penalty", 2}, {"frequency_penalty", 2}}).find("ine"),
            std::string::npos);
  EXPECT_NE(text({{"presence_penalty", 2}, {"frequency_penalty", 2}}), kWritten);
  for (const Json& wrong : {Json{{"presence_penalty", 2.5}}, Json{{"logit_bias", {{"657", 1}}}},
                            Json{{"logit_bias", {{"1", 101}}}}, Json{{"frequency_penalty", "a"}}})
    EXPECT_NE(refused("completions", completion_of(wrong)).find(wrong.begin().key()),
              std::string::npos);
}

TEST_F(OpenaiRoutes, EchoesThePromptWithItsLogprobs) {
  const Json c = ask("completions", completion_of({{"echo", true}, {"logprobs", 1}}))["choices"][0];
  EXPECT_EQ(c["text"], "Hello, world" + kWritten);
  const Json& l = c["logprobs"];
  EXPECT_EQ(joined(l["tokens"]), c["text"]);
  EXPECT_TRUE(l["token_logprobs"][0].is_null());
  EXPECT_TRUE(l["top_logprobs"][0].is_null());
  EXPECT_EQ(l["text_offset"].back().get<size_t>() + l["tokens"].back().get<std::string>().size(),
            c["text"].get<std::string>().size());
  // The same tokens as a prompt: their log probabilities are equal.
  Json ids = Json::array();
  const ModelSet::Model model = context_->models.look_up("m").value();
  for (const Json& token : l["tokens"]) {
    const auto one = model->tokenizer().encode(token.get<std::string>());
    ASSERT_EQ(one.size(), 1u) << token;
    ids.push_back(one[0]);
  }
  const Json only =
      ask("completions",
          completion_of({{"prompt", ids}, {"echo", true}, {"max_tokens", 0}, {"logprobs", 0}}));
  const Json& again = only["choices"][0];
  EXPECT_EQ(again["text"], c["text"]);
  EXPECT_EQ(again["finish_reason"], "length");
  EXPECT_EQ(only["usage"]["completion_tokens"], 0);
  ASSERT_EQ(again["logprobs"]["tokens"], l["tokens"]);
  for (size_t i = 1; i < l["tokens"].size(); ++i)
    EXPECT_NEAR(again["logprobs"]["token_logprobs"][i].get<double>(),
                l["token_logprobs"][i].get<double>(), 1e-4);
  std::string streamed;
  for (const Json& e : events("completions", completion_of({{"echo", true}})))
    for (const Json& choice : e["choices"]) streamed += choice["text"].get<std::string>();
  EXPECT_EQ(streamed, c["text"]);
  EXPECT_NE(
      refused("completions", completion_of({{"echo", true}, {"logprobs", 1}, {"stream", true}}))
          .find("echo"),
      std::string::npos);
}

const Json kPerson = Json::parse(R"({"type": "object", "properties": {"name": {"type": "string",
    "maxLength": 5}, "age": {"type": "integer", "minimum": 0, "maximum": 120}, "tags": {"type": "array", "items":
    {"enum": ["a", "b"]}, "maxItems": 2}}, "required": ["name", "age", "tags"], "additionalProperties": false})");

void expect_person(const std::string& text) {
  const Json person = Json::parse(text, nullptr, false);
  ASSERT_TRUE(person.is_object()) << text;
  EXPECT_EQ(person.size(), 3u) << text;
  EXPECT_TRUE(person["name"].is_string() && person["age"].is_number_integer()) << text;
  EXPECT_TRUE(person["age"] >= 0 && person["age"] <= 120 && person["tags"].size() <= 2) << text;
}

TEST_F(OpenaiRoutes, AnswersByAJsonSchemaAreValid) {
  const Json format{{"type", "json_schema"},
                    {"json_schema", {{"name", "person"}, {"strict", true}, {"schema", kPerson}}}};
  int whole = 0;
  for (int seed = 0; seed < 20; ++seed) {
    const Json c = ask("chat/completions", chat_of({{"response_format", format},
                                                    {"temperature", 1},
                                                    {"n", 2},
                                                    {"seed", seed},
                                                    {"max_tokens", 110}},
                                                   "A"));
    for (const Json& choice : c["choices"]) {
      if (choice["finish_reason"] != "stop") continue;  // white space took the tokens
      ++whole;
      expect_person(choice["message"]["content"]);
    }
  }
  EXPECT_GT(whole, 20);
  // Greedy, streamed, and cut by the length.
  std::string text;
  Json reason;
  for (const Json& e :
       events("chat/completions",
              chat_of({{"response_format", format}, {"max_tokens", 110}, {"logprobs", true}}, "A")))
    for (const Json& choice : e["choices"]) {
      text += choice["delta"].value("content", "");
      reason = choice["finish_reason"];
    }
  if (reason == "stop") expect_person(text);
  const Json cut = ask("chat/completions", chat_of({{"response_format", format}}));
  EXPECT_EQ(cut["choices"][0]["finish_reason"], "length");
  EXPECT_TRUE(
      std::string("{ \n").find(cut["choices"][0]["message"]["content"].get<std::string>()[0]) !=
      std::string::npos);
  const Json object =
      ask("completions", completion_of({{"response_format", {{"type", "json_object"}}},
                                        {"logit_bias", {{"92", 30}}},
                                        {"max_tokens", 60}}));
  EXPECT_EQ(Json::parse(object["choices"][0]["text"].get<std::string>()), Json::object());
}

TEST_F(OpenaiRoutes, RefusesSchemasByTheKey) {
  const auto fault = [&](const Json& schema) {
    return refused("chat/completions",
                   chat_of({{"response_format",
                             {{"type", "json_schema"},
                              {"json_schema", {{"name", "n"}, {"schema", schema}}}}}}));
  };
  EXPECT_NE(fault({{"not", Json::object()}}).find("H2511"), std::string::npos);
  EXPECT_NE(fault({{"type", "text"}}).find("H2512"), std::string::npos);
}

TEST_F(OpenaiRoutes, BeamsGiveLogProbabilitiesAndFollowSchemas) {
  const Json beams{{"num_beams", 2}, {"n", 2}, {"do_sample", false}, {"logprobs", 1}};
  const Json whole = ask("completions", completion_of(beams));
  ASSERT_EQ(whole["choices"].size(), 2u);
  for (const Json& choice : whole["choices"])
    EXPECT_EQ(choice["logprobs"]["tokens"].size(), choice["logprobs"]["token_logprobs"].size());
  std::vector<Json> tokens(2, Json::array());
  for (const Json& e : events("completions", completion_of(beams)))
    for (const Json& choice : e["choices"])
      if (!choice["logprobs"].is_null())
        for (const Json& token : choice["logprobs"]["tokens"])
          tokens[choice["index"].get<size_t>()].push_back(token);
  for (size_t i = 0; i < 2; ++i) EXPECT_EQ(tokens[i], whole["choices"][i]["logprobs"]["tokens"]);
  const Json format{{"type", "json_schema"},
                    {"json_schema", {{"name", "n"}, {"schema", {{"enum", {"a", "bc"}}}}}}};
  for (const bool samples : {false, true}) {
    const Json c = ask("chat/completions", chat_of({{"response_format", format},
                                                    {"num_beams", 3},
                                                    {"do_sample", samples},
                                                    {"logprobs", true},
                                                    {"max_tokens", 60}}));
    const Json& choice = c["choices"][0];
    if (choice["finish_reason"] != "stop") continue;  // white space took the tokens
    const Json text = Json::parse(choice["message"]["content"].get<std::string>());
    EXPECT_TRUE(text == "a" || text == "bc") << text;
    EXPECT_FALSE(choice["logprobs"]["content"].empty());
  }
}

TEST_F(OpenaiRoutes, ResponsesAreMessages) {
  const Json body{{"input", "Hello, world"}, {"max_output_tokens", 4}, {"temperature", 0}};
  const Json r = ask("responses", body);
  EXPECT_EQ(r["object"], "response");
  EXPECT_EQ(r["status"], "incomplete");
  EXPECT_EQ(r["incomplete_details"]["reason"], "max_output_tokens");
  EXPECT_EQ(r["output"][0]["content"][0]["text"], kWritten) << r;
  EXPECT_EQ(r["usage"]["output_tokens"], 4);
  Json more = body;
  more["instructions"] = "Be brief";
  more["include"] = {"message.output_text.logprobs"};
  more["top_logprobs"] = 2;
  const Json with = ask("responses", more);
  EXPECT_EQ(with["instructions"], "Be brief");
  EXPECT_EQ(with["output"][0]["content"][0]["logprobs"].size(), 4u);
  std::vector<std::string> types;
  std::string text;
  const std::vector<Json> all = events("responses", more);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_EQ(all[i]["sequence_number"], i);
    if (types.empty() || types.back() != all[i]["type"]) types.push_back(all[i]["type"]);
    if (all[i]["type"] == "response.output_text.delta") text += all[i]["delta"].get<std::string>();
  }
  EXPECT_EQ(text, kWritten);
  EXPECT_EQ(types, (std::vector<std::string>{
                       "response.created", "response.in_progress", "response.output_item.added",
                       "response.content_part.added", "response.output_text.delta",
                       "response.output_text.done", "response.content_part.done",
                       "response.output_item.done", "response.incomplete"}));
  EXPECT_EQ(all.back()["response"]["output"][0]["content"], with["output"][0]["content"]);
  Json schema = body;
  schema["max_output_tokens"] = 40;
  schema["text"]["format"] = {{"type", "json_schema"}, {"name", "p"}, {"schema", {{"const", "x"}}}};
  const Json fixed = ask("responses", schema);
  EXPECT_EQ(fixed["status"], "completed");
  EXPECT_EQ(Json::parse(fixed["output"][0]["content"][0]["text"].get<std::string>()), "x");
  EXPECT_NE(
      refused("responses", {{"input", "a"}, {"tools", {{{"type", "web_search"}}}}}).find("tools"),
      std::string::npos);
}

}  // namespace
}  // namespace hone
