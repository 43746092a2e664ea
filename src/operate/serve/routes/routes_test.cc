// Every API against tiny models, over HTTP.
#include "operate/serve/routes/routes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <set>
#include <thread>

#include "base/store/http.h"
#include "operate/serve/errors.h"
#include "operate/serve/inference_server.h"
#include "operate/serve/protocol/json_body.h"

namespace hone {
namespace {

const std::string kGoldens = std::string(HONE_SOURCE_DIR) + "/tests/goldens/";

// A minute is more than any of these takes.
template <class F>
bool until(F condition) {
  for (int i = 0; i < 30000 && !condition(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  return condition();
}

class ServeRoutes : public testing::Test {
 protected:
  static ModelSet::Model load(const std::string& name, const std::string& folder,
                              const std::string& version = "1", ServedOptions o = {}) {
    o.batch_size = 4;
    o.max_length = 48;
    o.threads = 1;
    auto m = ServedModel::load(name, version, kGoldens + folder, o);
    EXPECT_TRUE(m.ok()) << m.error().text();
    return *m;
  }
  static void SetUpTestSuite() {
    context_ = new ServeContext();
    context_->version = "0";
    context_->endpoint = "123";
    context_->models.add(load("gpt2", "tiny_text_gpt2"));
    ServedOptions t5;
    t5.prefix = "summarize: ";
    context_->models.add(load("t5", "pairs/t5", "7", t5));
    context_->models.add(load("bert", "classification/bert"));
    context_->models.add(load("mlm", "mlm/bert_tiny"));
    context_->ready = true;
    server_ = std::move(InferenceServer::start({}, all_serve_api(), *context_).value()).release();
  }
  static void TearDownTestSuite() {
    delete server_;
    delete context_;
  }
  HttpResponse post(const std::string& path, const std::string& body, HttpHeaders headers = {}) {
    return http_
        .send({.method = "POST",
               .url = server_->url() + path,
               .headers = std::move(headers),
               .body = std::as_bytes(std::span(body))})
        .value();
  }
  Json json_of(const HttpResponse& r) { return Json::parse(r.body, nullptr, false); }
  HttpResponse get(const std::string& path) { return http_.get(server_->url() + path).value(); }

  HttpClient http_{{.retries = 0}};
  static inline ServeContext* context_ = nullptr;
  static inline InferenceServer* server_ = nullptr;
};

// The tokens of tests/runs/generate.run.
TEST_F(ServeRoutes, VertexPredictsWithTheFieldsOfAnEndpoint) {
  const HttpResponse r = post("/v1/projects/p/locations/l/endpoints/123:predict",
                              R"({"instances": ["Hello, world", {"text": "the cat sat"}],
                                  "parameters": {"maxOutputTokens": 4}})");
  ASSERT_EQ(r.status, 200) << r.body;
  const Json j = json_of(r);
  EXPECT_EQ(j["predictions"], (Json{"ineinehi S", "selfselfselfself"}));
  EXPECT_EQ(j["modelDisplayName"], "gpt2");
  EXPECT_EQ(j["modelVersionId"], "1");
  EXPECT_TRUE(j["model"].get<std::string>().starts_with("projects/p/locations/l/models/"));
  EXPECT_EQ(j["deployedModelId"].get<std::string>().find_first_not_of("0123456789"),
            std::string::npos);
  EXPECT_EQ(post("/v1/projects/p/locations/l/endpoints/9:predict", "{}").status, 404);
}

TEST_F(ServeRoutes, KserveV1AnswersEveryTask) {
  const Json t5 = json_of(post("/v1/models/t5:predict", R"({"instances": ["a b c"]})"));
  ASSERT_EQ(t5["predictions"].size(), 1u) << t5;
  EXPECT_TRUE(t5["predictions"][0].is_string());
  const Json bert = json_of(post("/v1/models/bert:predict", R"({"instances":
      ["a b", {"text": "a b", "text_pair": "c"}], "parameters": {"top_k": null}})"));
  ASSERT_EQ(bert["predictions"].size(), 2u) << bert;
  double sum = 0;
  for (const Json& label : bert["predictions"][1]) sum += label["score"].get<double>();
  EXPECT_NEAR(sum, 1, 1e-6);
  const Json mlm = json_of(post("/v1/models/mlm:predict",
                                R"({"instances": ["a [MASK] b"], "parameters": {"top_k": 3}})"));
  ASSERT_EQ(mlm["predictions"][0].size(), 3u) << mlm;
  EXPECT_GE(mlm["predictions"][0][0]["score"], mlm["predictions"][0][1]["score"]);
  EXPECT_EQ(post("/v1/models/mlm:predict", R"({"instances": ["no mask"]})").status, 400);
  EXPECT_EQ(get("/v1/models/t5").status, 200);
  const Json models = json_of(get("/v1/models"));
  EXPECT_EQ(models["models"], (Json{"gpt2", "t5", "bert", "mlm"}));
  std::vector<std::string> tasks;
  for (const Json& m : models["data"]) tasks.push_back(m["task"]);
  EXPECT_EQ(tasks, (std::vector<std::string>{"text-generation", "text2text-generation",
                                             "text-classification", "fill-mask"}));
  EXPECT_EQ(models["data"][0]["chat"], false);  // no template
  for (const Json& m : models["data"]) {
    Json body;
    body["instances"].push_back(m["example"]);
    const std::string name = m["id"];
    EXPECT_EQ(post("/v1/models/" + name + ":predict", body.dump()).status, 200) << m;
  }
}

// Clients whose numbers are all doubles send 4.0 and mean 4. Other numbers are refused in the words
// of the request: no flag, no file, no key that it does not have.
TEST_F(ServeRoutes, TakesWholeNumbersThatAreWrittenAsDoubles) {
  const auto predict = [&](const std::string& number) {
    return post("/v1/models/gpt2:predict",
                R"({"instances": [{"content": "hi"}],
                    "parameters": {"temperature": 0.0, "maxOutputTokens": )" +
                    number + "}}");
  };
  EXPECT_EQ(predict("4.0").status, 200);
  EXPECT_EQ(predict("4.0").body, predict("4").body);
  const std::string completion =
      R"({"model": "gpt2", "prompt": "hi", "temperature": 0.0, "max_tokens": 3.0})";
  EXPECT_EQ(post("/v1/completions", completion).status, 200);
  const HttpResponse two =
      post("/v1/completions", R"({"model": "gpt2", "prompt": "hi", "temperature": 0, "n": 2})");
  EXPECT_EQ(two.status, 400);
  EXPECT_NE(two.body.find("greedy search has one result, n is 2\""), std::string::npos) << two.body;
  for (const char* number : {"4.5", "0", "1e300", "\"4\""}) {
    const HttpResponse r = predict(number);
    EXPECT_EQ(r.status, 400) << number;
    for (const char* ours : {"--", "flag", "file", "max_new_tokens", "max_length"})
      EXPECT_EQ(r.body.find(ours), std::string::npos) << r.body;
    EXPECT_NE(r.body.find("maxOutputTokens"), std::string::npos) << r.body;
  }
}

TEST_F(ServeRoutes, RefusesWithTheNameOfTheMistake) {
  const auto message = [&](const std::string& body) {
    const HttpResponse r = post("/v1/models/gpt2:predict", body);
    EXPECT_EQ(r.status, 400);
    return json_of(r)["error"].get<std::string>();
  };
  EXPECT_NE(message("{").find("not JSON"), std::string::npos);
  EXPECT_NE(message("[]").find("not an object"), std::string::npos);
  EXPECT_NE(message(R"({"instances": "a"})").find("no list"), std::string::npos);
  EXPECT_NE(message(R"({"instances": [1]})").find("instances[0]"), std::string::npos);
  EXPECT_NE(message(R"({"instances": ["a"], "parameters": {"top_pp": 1}})").find("'top_p'"),
            std::string::npos);
  EXPECT_NE(message(R"({"instances": ["a"], "parameters": {"num_beams": 9}})").find("holds"),
            std::string::npos);
  EXPECT_NE(message(R"({"instances": ["a"], "other": 1})").find("'other'"), std::string::npos);
  EXPECT_NE(message(R"({"instances": ["a"], "parameters": {"presencePenalty": 3}})")
                .find("presencePenalty is 3"),
            std::string::npos);
  EXPECT_EQ(post("/v1/models/none:predict", R"({"instances": []})").status, 404);
  EXPECT_EQ(post("/v1/models/gpt2:predict", R"({"instances": []})").body,
            "{\"predictions\": []}\n");
  EXPECT_EQ(get("/nothing").status, 404);
}

TEST_F(ServeRoutes, OpenAiCompletesChatsAndStreams) {
  const Json c = json_of(post("/v1/completions", R"({"model": "gpt2", "prompt": ["Hello, world",
      [1, 2, 3]], "max_tokens": 4, "temperature": 0})"));
  EXPECT_EQ(c["choices"][0]["text"], "ineinehi S") << c;
  EXPECT_EQ(c["choices"][0]["finish_reason"], "length");
  EXPECT_EQ(c["usage"]["completion_tokens"], 8);
  EXPECT_EQ(c["usage"]["prompt_tokens"], 9);
  // The stop text is left out, whole or in pieces.
  const Json s = json_of(post("/v1/completions", R"({"model": "gpt2", "prompt": "Hello, world",
      "max_tokens": 4, "temperature": 0, "stop": "hi"})"));
  EXPECT_EQ(s["choices"][0]["text"], "ineine");
  EXPECT_EQ(s["choices"][0]["finish_reason"], "stop");
  const HttpResponse stream = post("/v1/completions", R"({"model": "gpt2", "prompt": "Hello, world",
      "max_tokens": 4, "temperature": 0, "stream": true, "stream_options": {"include_usage": true}})");
  EXPECT_EQ(stream.header("content-type"), "text/event-stream");
  std::string text;
  std::vector<Json> events;
  for (size_t at = 0; (at = stream.body.find("data: {", at)) != std::string::npos; ++at)
    events.push_back(Json::parse(stream.body.substr(at + 6, stream.body.find('\n', at) - at - 6)));
  for (const Json& e : events)
    for (const Json& choice : e["choices"]) text += choice["text"].get<std::string>();
  EXPECT_EQ(text, "ineinehi S") << stream.body;
  EXPECT_TRUE(stream.body.ends_with("data: [DONE]\n\n"));
  EXPECT_EQ(events.back()["usage"]["completion_tokens"], 4);
  EXPECT_EQ(
      json_of(post(
          "/v1/chat/completions",
          R"({"model": "gpt2", "messages": [{"role": "user", "content": "a"}]})"))["error"]["type"],
      "invalid_request_error");  // it has no chat template
  EXPECT_EQ(post("/v1/completions", R"({"model": "none", "prompt": "a"})").status, 404);
  EXPECT_EQ(post("/v1/completions", R"({"model": "bert", "prompt": "a"})").status, 400);
}

// The index of each choice of a streamed answer.
std::set<int64_t> choices_of(const std::string& stream) {
  std::set<int64_t> all;
  for (size_t at = 0; (at = stream.find("data: {", at)) != std::string::npos; ++at) {
    const Json event = Json::parse(stream.substr(at + 6, stream.find('\n', at) - at - 6));
    for (const Json& c : event["choices"]) all.insert(c["index"].get<int64_t>());
  }
  return all;
}

TEST_F(ServeRoutes, OpenAiCountsChoicesByNAlone) {
  const auto ask = [&](const std::string& model, const std::string& rest) {
    return post("/v1/completions", R"({"prompt": "Hello, world", "max_tokens": 4, "model": ")" +
                                       model + "\"" + rest + "}");
  };
  for (const char* stream : {R"(, "stream": true)", ""}) {
    const HttpResponse r = ask("gpt2", std::string(R"(, "num_return_sequences": 3)") + stream);
    EXPECT_EQ(r.status, 400) << r.body;
    EXPECT_NE(r.body.find("num_return_sequences"), std::string::npos) << r.body;
    EXPECT_EQ(ask("gpt2", std::string(R"(, "num_return_sequences": "3")") + stream).status, 400);
  }
  const HttpResponse two = ask("gpt2", R"(, "n": 2, "num_return_sequences": 2, "stream": true)");
  EXPECT_EQ(two.status, 200);
  EXPECT_EQ(choices_of(two.body), (std::set<int64_t>{0, 1})) << two.body;

  // A model whose own settings ask for two.
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("hone_two_{}", getpid());
  fs::remove_all(folder);
  fs::copy(kGoldens + "tiny_text_gpt2", folder);
  std::ofstream(folder / "generation_config.json")
      << R"({"num_return_sequences": 2, "do_sample": true})";
  context_->models.add(
      ServedModel::load("two", "1", folder.string(), {.threads = 1, .max_length = 48}).value());
  fs::remove_all(folder);
  const HttpResponse stream = ask("two", R"(, "stream": true)");
  EXPECT_EQ(stream.status, 200);
  EXPECT_EQ(choices_of(stream.body), std::set<int64_t>{0}) << stream.body;
  EXPECT_EQ(json_of(ask("two", ""))["choices"].size(), 1u);
  EXPECT_EQ(json_of(ask("two", R"(, "temperature": 0)"))["choices"].size(), 1u);
  EXPECT_EQ(choices_of(ask("two", R"(, "n": 3, "stream": true)").body),
            (std::set<int64_t>{0, 1, 2}));
  EXPECT_EQ(
      json_of(post("/v1/models/two:predict", R"({"instances": ["a"]})"))["predictions"][0].size(),
      2u);
  EXPECT_TRUE(context_->models.remove("two").ok());
}

TEST_F(ServeRoutes, RefusesMoreTextsThanItTakes) {
  std::string texts = R"("")";
  for (size_t i = 0; i < kMostTexts; ++i) texts += R"(, "")";
  const std::string count = std::to_string(kMostTexts);
  for (const auto& [path, body] :
       {std::pair{"/v1/models/gpt2:predict", R"({"instances": [)" + texts + "]}"},
        std::pair{"/v1/completions", R"({"model": "gpt2", "prompt": [)" + texts + "]}"},
        std::pair{"/v2/models/gpt2/infer",
                  R"({"inputs": [{"name": "t", "datatype": "BYTES", "shape": [)" +
                      std::to_string(kMostTexts + 1) + R"(], "data": [)" + texts + "]}]}"}}) {
    const HttpResponse r = post(path, body);
    EXPECT_EQ(r.status, 400) << path;
    EXPECT_NE(r.body.find(count), std::string::npos) << r.body.substr(0, 300);
  }
}

TEST_F(ServeRoutes, OpenAiChatsRunTheTemplateOfTheModel) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("hone_chat_{}", getpid());
  fs::remove_all(folder);
  fs::copy(kGoldens + "tiny_text_gpt2", folder);
  std::ofstream(folder / "chat_template.jinja")
      << "{% if messages[0].role != 'user' %}{{ raise_exception('only user') }}{% endif %}"
         "{{ messages[0].content }}{% if tools %}{{ tools[0].name }}{% endif %}{{ more }}";
  ServedOptions o{.threads = 1, .max_length = 48};
  context_->models.add(ServedModel::load("chat", "1", folder.string(), o).value());
  fs::remove_all(folder);
  const auto ask = [&](const std::string& rest) {
    return json_of(post("/v1/chat/completions",
                        R"({"model": "chat", "max_tokens": 4, "temperature": 0, )" + rest + "}"));
  };
  EXPECT_EQ(json_of(get("/v1/models/chat"))["chat"], true);
  EXPECT_EQ(json_of(get("/v1/models/chat"))["route"], "/v1/chat/completions");
  const std::string said = "ineinehi S";  // after "Hello, world"
  const Json plain = ask(R"("messages": [{"role": "user", "content": "Hello, world"}])");
  EXPECT_EQ(plain["choices"][0]["message"]["content"], said) << plain;
  const Json more = ask(R"("chat_template_kwargs": {"more": "world"}, "tools": [{"name": "lo, "}],
                           "messages": [{"role": "user", "content": [{"type": "text", "text": "Hel"}]}])");
  EXPECT_EQ(more["choices"][0]["message"]["content"], said) << more;
  const Json refused = ask(R"("messages": [{"role": "system", "content": "x"}])");
  EXPECT_EQ(refused["error"]["type"], "invalid_request_error");
  EXPECT_EQ(refused["error"]["code"], "H2912");
  EXPECT_TRUE(context_->models.remove("chat").ok());
}

// A template alone says little: a training on plain texts did not use it.
TEST_F(ServeRoutes, NamesTheRouteOfTheTraining) {
  namespace fs = std::filesystem;
  for (const auto& [trained, route] :
       {std::pair{R"({"task": "sft", "settings": {}})", "/v1/chat/completions"},
        {R"({"task": "sft", "settings": {}, "columns": ["prompt", "completion"]})",
         "/v1/models/tuned:predict"},
        {R"({"task": "clm", "settings": {}})", "/v1/models/tuned:predict"}}) {
    const fs::path folder = fs::temp_directory_path() / fmt::format("hone_tuned_{}", getpid());
    fs::remove_all(folder);
    fs::copy(kGoldens + "tiny_text_gpt2", folder);
    std::ofstream(folder / "chat_template.jinja") << "{{ messages[0].content }}";
    std::ofstream(folder / "hone_task.json") << trained;
    context_->models.add(
        ServedModel::load("tuned", "1", folder.string(), {.threads = 1, .max_length = 48}).value());
    fs::remove_all(folder);
    EXPECT_EQ(json_of(get("/v1/models/tuned"))["route"], route) << trained;
    EXPECT_TRUE(context_->models.remove("tuned").ok());
  }
}

// A second text would get a label that means nothing.
TEST_F(ServeRoutes, RefusesPairsForModelsOfSingleTexts) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("hone_single_{}", getpid());
  fs::remove_all(folder);
  fs::copy(kGoldens + "classification/bert", folder);
  std::ofstream(folder / "hone_task.json")
      << R"({"task": "classification", "settings": {}, "columns": ["sentence"]})";
  context_->models.add(
      ServedModel::load("sst2", "1", folder.string(), {.threads = 1, .max_length = 48}).value());
  fs::remove_all(folder);
  std::map<std::string, std::string> takes;
  const Json described = json_of(get("/v1/models"));
  for (const Json& m : described["data"]) takes[m["id"]] = m["text_pair"];
  EXPECT_EQ(takes, (std::map<std::string, std::string>{{"gpt2", "none"},
                                                       {"t5", "none"},
                                                       {"bert", "optional"},
                                                       {"mlm", "optional"},
                                                       {"sst2", "none"}}));
  for (const char* name : {"sst2", "t5", "gpt2"}) {
    const auto predict = [&](const std::string& instance) {
      return post(fmt::format("/v1/models/{}:predict", name),
                  R"({"instances": [)" + instance + "]}");
    };
    const HttpResponse refused = predict(R"({"text": "a b", "text_pair": "c"})");
    EXPECT_EQ(refused.status, 400) << name;
    EXPECT_NE(refused.body.find("leave text_pair out"), std::string::npos) << refused.body;
    EXPECT_EQ(predict(R"({"text": "a b"})").status, 200) << name;
  }
  EXPECT_TRUE(context_->models.remove("sst2").ok());
}

// A single text would get a label that means nothing.
TEST_F(ServeRoutes, TakesPairsInTheWordsOfTheTraining) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("hone_pairs_{}", getpid());
  fs::remove_all(folder);
  fs::copy(kGoldens + "classification/bert", folder);
  std::ofstream(folder / "hone_task.json")
      << R"({"task": "classification", "settings": {}, "columns": ["question", "sentence"]})";
  context_->models.add(
      ServedModel::load("nli", "1", folder.string(), {.threads = 1, .max_length = 48}).value());
  fs::remove_all(folder);
  const auto predict = [&](const std::string& instance) {
    return post("/v1/models/nli:predict", R"({"instances": [)" + instance + "]}");
  };
  const auto infer = [&](const std::string& model, const Json& text) {
    return post(
        "/v2/models/" + model + "/infer",
        R"({"inputs": [{"name": "text_input", "datatype": "BYTES", "shape": [1], "data": [)" +
            text.dump() + "]}]}");
  };
  const std::string named = R"({"question": "a b", "sentence": "c"})",
                    plain = R"({"text": "a b", "text_pair": "c"})";
  const HttpResponse answer = predict(plain);
  ASSERT_EQ(answer.status, 200) << answer.body;
  EXPECT_EQ(predict(named).body, answer.body);
  EXPECT_EQ(infer("nli", named).status, 200);
  EXPECT_EQ(json_of(infer("nli", named))["outputs"], json_of(infer("nli", plain))["outputs"]);
  EXPECT_EQ(json_of(infer("nli", plain))["outputs"][0],
            json_of(infer("bert", plain))["outputs"][0]);
  for (const HttpResponse& r :
       {predict(R"("a b")"), predict(R"({"text": "a b"})"), predict(R"({"sentence": "c"})"),
        infer("nli", "a b"), infer("nli", R"({"text": "a b"})")}) {
    EXPECT_EQ(r.status, 400) << r.body;
    EXPECT_NE(r.body.find("sentence"), std::string::npos) << r.body;
  }
  EXPECT_TRUE(context_->models.remove("nli").ok());
}

// The training made one text of two columns (--text_column_delimiter).
TEST_F(ServeRoutes, JoinsTheTextsThatTheTrainingJoined) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / fmt::format("hone_joined_{}", getpid());
  fs::remove_all(folder);
  fs::copy(kGoldens + "classification/bert", folder);
  std::ofstream(folder / "hone_task.json")
      << R"({"task": "classification", "settings": {"text_column_delimiter": " "}, "columns": ["title", "body"]})";
  context_->models.add(
      ServedModel::load("mail", "1", folder.string(), {.threads = 1, .max_length = 48}).value());
  fs::remove_all(folder);
  const auto predict = [&](const std::string& instance) {
    return post("/v1/models/mail:predict", R"({"instances": [)" + instance + "]}");
  };
  const HttpResponse whole = predict(R"("a b c")");
  EXPECT_EQ(whole.status, 200) << whole.body;
  EXPECT_EQ(predict(R"({"title": "a b", "body": "c"})").body, whole.body);
  EXPECT_NE(predict(R"({"title": "a b", "body": "d"})").body, whole.body);
  EXPECT_EQ(predict(R"({"title": "a b"})").status, 400);
  EXPECT_EQ(predict(R"({"text": "a b", "text_pair": "c"})").status, 400);
  EXPECT_TRUE(context_->models.remove("mail").ok());
}

TEST_F(ServeRoutes, OpenInferenceTakesTensorsAsJsonAndAsBytes) {
  EXPECT_EQ(json_of(get("/v2"))["name"], "hone");
  EXPECT_EQ(get("/v2/models/gpt2/ready").status, 200);
  EXPECT_EQ(get("/v2/models/none/ready").status, 404);
  EXPECT_EQ(json_of(get("/v2/models/t5/versions/7"))["outputs"][0]["name"], "text_output");
  EXPECT_EQ(json_of(get("/v2/models/bert/config"))["output"][1]["data_type"], "TYPE_FP32");
  const Json j = json_of(post("/v2/models/gpt2/infer", R"({"id": "x", "parameters":
      {"max_new_tokens": 4}, "inputs": [{"name": "text_input", "shape": [1, 1], "datatype": "BYTES",
      "data": [["Hello, world"]]}]})"));
  EXPECT_EQ(j["outputs"][0]["data"], Json{"ineinehi S"}) << j;
  EXPECT_EQ(j["outputs"][0]["shape"], (Json{1, 1}));
  EXPECT_EQ(j["id"], "x");
  // The shape is that of the texts, whatever else is sent.
  const Json second = json_of(post("/v2/models/gpt2/infer", R"({"parameters": {"max_new_tokens": 4},
      "inputs": [{"name": "other", "shape": [2], "datatype": "FP32", "data": [1, 2]},
                 {"name": "text_input", "shape": [1, 1], "datatype": "BYTES", "data": ["Hello, world"]}]})"));
  EXPECT_EQ(second["outputs"][0]["shape"], (Json{1, 1})) << second;
  const std::string head = R"({"inputs": [{"name": "T", "shape": [1], "datatype": "BYTES",
      "parameters": {"binary_data_size": 16}}], "parameters": {"max_new_tokens": 4},
      "outputs": [{"name": "text_output", "parameters": {"binary_data": true}}]})";
  const std::string tensor = std::string("\x0c\0\0\0", 4) + "Hello, world";
  const HttpResponse r = post("/v2/models/gpt2/infer", head + tensor,
                              {{"inference-header-content-length", std::to_string(head.size())}});
  ASSERT_EQ(r.status, 200) << r.body;
  const size_t n = std::stoul(r.header("inference-header-content-length"));
  EXPECT_EQ(r.body.substr(n), std::string("\x0a\0\0\0", 4) + "ineinehi S");
  // Lengths beyond the body.
  EXPECT_EQ(
      post("/v2/models/gpt2/infer", head, {{"inference-header-content-length", "9999999"}}).status,
      400);
  EXPECT_EQ(
      post("/v2/models/gpt2/infer", head + std::string("\xff\xff\xff\xff", 4) + "Hello, world",
           {{"inference-header-content-length", std::to_string(head.size())}})
          .status,
      400);
  EXPECT_EQ(
      json_of(post(
          "/v2/models/gpt2/generate",
          R"({"text_input": "Hello, world", "parameters": {"max_new_tokens": 4}})"))["text_output"],
      "ineinehi S");
  EXPECT_EQ(json_of(post("/v2/repository/index", ""))[0]["state"], "READY");
}

// Each key is read or refused by its name.
TEST_F(ServeRoutes, OpenInferenceRefusesKeysThatItDoesNotRead) {
  const auto refused = [&](const std::string& verb, const std::string& body, const char* named) {
    const HttpResponse r = post("/v2/models/gpt2/" + verb, body);
    EXPECT_EQ(r.status, 400) << body;
    EXPECT_NE(r.body.find(named), std::string::npos) << r.body;
  };
  for (const char* verb : {"generate", "generate_stream"}) {
    refused(verb, R"({"text_input": "a", "max_tokens": 4})", "'max_tokens'");
    refused(verb, R"({"text_input": "a", "parameters": 4})", "parameters");
    refused(verb, R"({"text_input": "a", "parameters": {"max_tokens": 4}})", "max_tokens");
    refused(verb, R"({"text_input": "a", "id": 4})", "id");
    refused(verb, R"({"text_input": ["a"]})", "text_input");
  }
  refused("generate", R"({"text_input": "a", "parameters": {"stream": true}})", "generate_stream");
  refused("generate_stream", R"({"text_input": "a", "stream": false})", "stream");
  const Json j = json_of(post("/v2/models/gpt2/generate", R"({"id": "x", "stream": false,
      "text_input": "Hello, world", "parameters": {"max_new_tokens": 4, "stream": false}})"));
  EXPECT_EQ(j["id"], "x");
  EXPECT_EQ(j["text_output"], "ineinehi S");
  const std::string input =
      R"("name": "text_input", "shape": [1], "datatype": "BYTES", "data": ["a"])";
  const auto infer = [&](const std::string& more_input, const std::string& more) {
    return "{\"inputs\": [{" + input + more_input + "}]" + more + "}";
  };
  EXPECT_EQ(post("/v2/models/gpt2/infer", infer("", "")).status, 200);
  refused("infer", infer(R"(, "extra": 1)", ""), "'extra'");
  refused("infer", infer(R"(, "parameters": {"shared_memory_region": "r"})", ""),
          "shared_memory_region");
  refused("infer", infer(R"(, "parameters": {"binary_data_size": 1})", ""), "binary_data_size");
  refused("infer", infer("", R"(, "priority": 1)"), "'priority'");
  refused("infer", infer("", R"(, "parameters": {"sequence_id": 1})"), "sequence_id");
  refused("infer", infer("", R"(, "parameters": {"binary_data_output": 1})"), "binary_data_output");
  refused("infer", infer("", R"(, "id": 7)"), "id");
  refused("infer", infer("", R"(, "outputs": {})"), "outputs");
  refused("infer", infer("", R"(, "outputs": [{"parameters": {}}])"), "no name");
  refused(
      "infer",
      infer("", R"(, "outputs": [{"name": "text_output", "parameters": {"classification": 2}}])"),
      "classification");
}

TEST_F(ServeRoutes, TellsTritonsStatistics) {
  const auto count = [&](const std::string& path) {
    const Json j = json_of(get(path));
    EXPECT_EQ(j["model_stats"].size(), 1u) << j;
    return j["model_stats"][0]["inference_stats"]["success"]["count"].get<int64_t>();
  };
  const int64_t before = count("/v2/models/t5/stats");
  EXPECT_EQ(post("/v1/models/t5:predict", R"({"instances": ["a", "b"]})").status, 200);
  EXPECT_EQ(count("/v2/models/t5/versions/7/stats"), before + 1);
  EXPECT_EQ(get("/v2/models/t5/versions/8/stats").status, 404);
  EXPECT_EQ(json_of(get("/v2/models/stats"))["model_stats"].size(), context_->models.all().size());
  const Json extensions = json_of(get("/v2"))["extensions"];
  EXPECT_NE(std::find(extensions.begin(), extensions.end(), "statistics"), extensions.end());
}

TEST_F(ServeRoutes, TensorsThatComeAnotherWayGetWhatHttpGives) {
  struct Client : WebClient {
    bool gone() const override { return false; }
    void on_gone(std::function<void()>) override {}
  };
  const auto ask = [&](TensorRequest r) {
    std::promise<InferenceServer::Inferred> answer;
    server_->infer({}, std::move(r), std::make_shared<Client>(),
                   [&](InferenceServer::Inferred i) { answer.set_value(std::move(i)); });
    return answer.get_future().get();
  };
  TensorRequest r;
  r.model = "gpt2";
  r.id = "x";
  r.inputs.push_back({"text_input", "BYTES", {1, 1}});
  r.inputs[0].bytes = std::string("\x0c\0\0\0", 4) + "Hello, world";
  r.settings = {{"max_new_tokens", 4}};
  const auto i = ask(r);
  ASSERT_EQ(i.status, 200) << i.error;
  EXPECT_EQ(i.answer.id, "x");
  EXPECT_EQ(i.answer.model, "gpt2");
  EXPECT_EQ(i.answer.outputs[0].shape, (std::vector<int64_t>{1, 1}));
  EXPECT_EQ(i.answer.outputs[0].bytes, std::string("\x0a\0\0\0", 4) + "ineinehi S");
  r.unread = {"shared_memory_region"};
  EXPECT_EQ(ask(r).status, 400);
  r.unread = {};
  r.version = std::string("1\0", 2);
  EXPECT_EQ(ask(r).status, 400);
  r.version = "";
  r.wanted = {"other"};
  EXPECT_EQ(ask(r).status, 400);
  r.model = "none";
  EXPECT_EQ(ask(r).status, 404);
  r.model = "";
  EXPECT_EQ(ask(r).status, 400);
}

TEST_F(ServeRoutes, OtherMethodsAndPathsAreRefused) {
  EXPECT_EQ(get("/v1/completions").status, 405);
  EXPECT_EQ(get("/v1/completions").header("allow"), "POST");
  EXPECT_NE(get("/v1/completions").body.find("send it with POST"), std::string::npos);
  const auto typo = post("/v1/completions", R"({"model": "gpt2", "prompt": "a", "tempratur": 1})");
  EXPECT_NE(typo.body.find("'tempratur' (the body)"), std::string::npos) << typo.body;
  EXPECT_EQ(get("/v1/projects/p/locations/l/endpoints/123:predict").status, 405);
  EXPECT_EQ(post("/healthz", "").status, 405);
  EXPECT_EQ(post("/healthz", "").header("allow"), "GET");
  EXPECT_EQ(get("/v2/models/gpt2/infer").status, 405);
  EXPECT_EQ(get("/v2/models/gpt2/versions/1/ready").status, 200);
  EXPECT_EQ(get("/v2/models/gpt2/versions/2/ready").status, 404);
  EXPECT_EQ(post("/v1/models/gpt2/versions/1:predict", R"({"instances": []})").status, 200);
  EXPECT_EQ(post("/v1/models/gpt2/versions/2:predict", R"({"instances": []})").status, 404);
}

// More loads than threads that read requests: all others are answered meanwhile.
TEST_F(ServeRoutes, LoadsOneAfterAnotherAndAnswersMeanwhile) {
  std::promise<void> goes;
  std::shared_future<void> go = goes.get_future().share();
  std::atomic<int> begun = 0;
  context_->load = [&](const LoadRequest& r) -> Status {
    ++begun;
    go.wait();
    EXPECT_EQ(r.traffic, std::nullopt);
    if (r.version == "9") return Error(err::kServeNoModel, "it has no version 9");
    return Ok{};
  };
  std::vector<std::thread> clients;
  std::atomic<int> taken = 0, refused = 0;
  for (int i = 0; i < 4; ++i)
    clients.emplace_back([&, i] {
      HttpClient http{{.retries = 0}};
      const std::string body = i == 0 ? R"({"parameters": {"hone_version": "9"}})" : "";
      const auto r = http.send({.method = "POST",
                                .url = server_->url() + "/v2/repository/models/x/load",
                                .body = std::as_bytes(std::span(body))});
      if (r.ok() && r->status == 200) ++taken;
      if (r.ok() && r->status == 404) ++refused;
    });
  const LiveMetric& open = context_->metrics.gauge("hone_serve_open_requests", "");
  EXPECT_TRUE(until([&] { return open.value() == 4; })) << open.value();
  EXPECT_TRUE(until([&] { return begun == 1; }));
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(post("/v1/models/gpt2:predict", R"({"instances": ["a"]})").status, 200);
  EXPECT_EQ(begun, 1);
  goes.set_value();
  for (std::thread& t : clients) t.join();
  EXPECT_EQ(begun, 4);
  EXPECT_EQ(taken, 3);
  EXPECT_EQ(refused, 1);
  context_->load = nullptr;
  EXPECT_EQ(post("/v2/repository/models/x/load", "").status, 404);
}

TEST_F(ServeRoutes, CountsRequestsAndSaysWhetherItIsReady) {
  EXPECT_EQ(get("/healthz").status, 200);
  EXPECT_EQ(get("/v2/health/ready").status, 200);
  context_->ready = false;
  EXPECT_EQ(get("/readyz").status, 503);
  EXPECT_EQ(get("/v2/health/live").status, 200);
  context_->ready = true;
  EXPECT_EQ(json_of(get("/readyz")), Json({{"endpoint", "123"}}));  // names no process
  const std::string text = get("/metrics").body;
  EXPECT_NE(text.find("hone_serve_requests_total{route=\"status\",code=\"200\"}"),
            std::string::npos);
  EXPECT_NE(text.find("hone_serve_new_tokens_total{model=\"gpt2\",version=\"1\"}"),
            std::string::npos);
}

TEST(InferenceServer, AsksForKeysAndTellsOriginsWhatTheyMay) {
  ServeContext context;
  InferenceOptions o;
  o.keys = {"secret", "other"};
  o.origins = {"https://a.example"};
  const auto server = std::move(InferenceServer::start(o, all_serve_api(), context).value());
  HttpClient http{{.retries = 0}};
  const auto status = [&](HttpHeaders headers) {
    return http.get(server->url() + "/v1/models", headers).value();
  };
  EXPECT_EQ(status({}).status, 401);
  EXPECT_EQ(status({{"authorization", "Bearer secre"}}).status, 401);
  for (const char* scheme : {"Bearer", "bearer", "BEARER"})
    EXPECT_EQ(status({{"authorization", fmt::format("{} other", scheme)}}).status, 200);
  EXPECT_EQ(status({{"x-api-key", "secret"}}).status, 200);
  EXPECT_EQ(http.get(server->url() + "/healthz").value().status, 200);
  EXPECT_EQ(status({{"x-api-key", "secret"}, {"origin", "https://a.example"}})
                .header("access-control-allow-origin"),
            "https://a.example");
  EXPECT_EQ(status({{"x-api-key", "secret"}, {"origin", "https://b.example"}})
                .header("access-control-allow-origin"),
            "");
  const HttpRequest preflight{
      .method = "OPTIONS",
      .url = server->url() + "/v1/completions",
      .headers = {{"origin", "https://a.example"}, {"access-control-request-method", "POST"}}};
  EXPECT_EQ(http.send(preflight).value().status, 204);
}

// A step of a model outlasts the drain. The server ends only when the model can no longer answer
// anybody, although the model was removed before. (A callback that waits is a step that takes
// long.)
TEST(InferenceServer, EndsAfterTheLastStepOfItsModels) {
  auto context = std::make_unique<ServeContext>();
  ServedOptions o{.threads = 1, .batch_size = 2, .max_length = 48};
  o.metrics = &context->metrics;
  context->models.add(ServedModel::load("slow", "1", kGoldens + "tiny_text_gpt2", o).value());
  context->load = [](const LoadRequest&) -> Status { return Ok{}; };
  context->ready = true;
  auto server = std::move(InferenceServer::start({}, all_serve_api(), *context).value());
  const std::weak_ptr<ServedModel> model = *context->models.find("slow");
  std::promise<void> begun, goes;
  std::shared_future<void> go = goes.get_future().share();
  std::atomic_flag first;
  std::atomic<bool> told = false, ended = false;
  ASSERT_TRUE(model.lock()
                  ->ask(
                      {.text = "Hello, world"},
                      [&](size_t, const std::string&) {
                        if (first.test_and_set()) return;
                        begun.set_value();
                        go.wait();
                      },
                      [&](const Result<TextAnswer>&) { told = true; })
                  .ok());
  begun.get_future().wait();
  // A request that came over HTTP waits for the same model.
  std::thread client([url = server->url()] {
    HttpClient http{{.retries = 0}};
    const std::string body = R"({"instances": ["Hello, world"]})";
    const auto r = http.send({.method = "POST",
                              .url = url + "/v1/models/slow:predict",
                              .body = std::as_bytes(std::span(body))});
    EXPECT_TRUE(!r.ok() || r->status == 503);
  });
  EXPECT_TRUE(until([&] { return model.lock()->load().waiting == 1; }));
  EXPECT_FALSE(server->drain(0, 0.01));
  EXPECT_FALSE(context->ready);
  EXPECT_TRUE(context->models.remove("slow").ok());
  std::thread ender([&] {
    server.reset();
    ended = true;
  });
  EXPECT_TRUE(until([&] {
    const auto r = model.lock()->ask({.text = "a"}, nullptr, [](const Result<TextAnswer>&) {});
    return !r.ok() && std::string(r.error().code()) == err::kServeEnds.id;
  }));
  EXPECT_FALSE(ended);
  goes.set_value();
  ender.join();
  EXPECT_TRUE(told);
  client.join();
  EXPECT_EQ(std::string(context->loads.add({}, {}).error().code()), err::kServeEnds.id);
  context.reset();
  wait_for_unloads();
  EXPECT_TRUE(model.expired());
}

// A version takes the place of another while requests come: each is answered by one of them.
TEST_F(ServeRoutes, SwapsVersionsWithoutALostRequest) {
  std::atomic<bool> stop = false;
  std::atomic<int> answered = 0, failed = 0;
  context_->models.add(load("swap", "tiny_text_gpt2", "1"));
  std::vector<std::thread> clients;
  for (int i = 0; i < 3; ++i)
    clients.emplace_back([&] {
      HttpClient http{{.retries = 0}};
      const std::string body =
          R"({"instances": ["Hello, world"], "parameters": {"maxOutputTokens": 4}})";
      while (!stop) {
        const auto r = http.send({.method = "POST",
                                  .url = server_->url() + "/v1/models/swap:predict",
                                  .body = std::as_bytes(std::span(body))});
        if (r.ok() && r->status == 200 && r->body == "{\"predictions\": [\"ineinehi S\"]}\n")
          ++answered;
        else
          ++failed;
      }
    });
  for (int v = 2; v < 8; ++v) {
    for (const int seen = answered; answered < seen + 2 && failed == 0;) std::this_thread::yield();
    const std::string now = std::to_string(v), before = std::to_string(v - 1);
    context_->models.add(load("swap", "tiny_text_gpt2", now));
    ASSERT_TRUE(context_->models.set_traffic("swap", {{now, 100}}).ok());
    ASSERT_TRUE(context_->models.remove("swap", before).ok());
  }
  stop = true;
  for (std::thread& t : clients) t.join();
  EXPECT_EQ(failed, 0);
  EXPECT_GT(answered, 10);
  EXPECT_TRUE(context_->models.remove("swap").ok());
}

}  // namespace
}  // namespace hone
