// Names in texts and answers from contexts over HTTP, by the tiny models of tests/goldens/ner and tests/goldens/qa.
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <map>

#include "operate/serve/routes/asked_server_test.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
const std::string kTokenGoldens = HONE_SOURCE_DIR "/tests/goldens/";

Json token_golden(const std::string& file) {
  std::ifstream in(kTokenGoldens + file);
  return Json::parse(in, nullptr, false);
}

class TokenRoutes : public AskedServer {
 protected:
  // The folder of a golden as a training with these settings leaves it.
  static std::string trained(const std::string& golden, const Json& settings) {
    const fs::path folder =
        fs::temp_directory_path() / fmt::format("hone_tokens_{}_{}", getpid(), golden.size());
    fs::remove_all(folder);
    fs::copy(kTokenGoldens + golden, folder, fs::copy_options::recursive);
    std::ofstream(folder / "hone_task.json") << Json{{"task", "qa"}, {"settings", settings}};
    return folder.string();
  }
  static void SetUpTestSuite() {
    begin();
    Json settings{
        {"max_seq_length", 36}, {"doc_stride", 6}, {"n_best_size", 5}, {"max_answer_length", 6}};
    for (const std::string name : {"bert", "roberta"}) {
      add("ner_" + name, kTokenGoldens + "ner/" + name);
      add("all_" + name, trained("qa/" + name, settings));
      Json negative = settings;
      negative["version_2_with_negative"] = true;
      negative["null_score_diff_threshold"] = 0.5;
      const std::string folder = trained("qa/" + name, negative);  // replaces the one before
      add("some_" + name, folder);
      fs::remove_all(folder);
    }
    serve();
  }
  Json predict(const std::string& model, const Json& instances, const Json& parameters) {
    return ask("v1/models/" + model + ":predict",
               {{"instances", instances}, {"parameters", parameters}})["predictions"];
  }
};

Json tensor_of(const std::string& text) {
  const Json input{{"name", "text_input"},
                   {"datatype", "BYTES"},
                   {"shape", Json::array({1})},
                   {"data", Json::array({text})}};
  return Json{{"inputs", Json::array({input})}};
}

// Numbers within 1e-5, the rest equal.
void expect_entities_near(const Json& got, const Json& want, const std::string& what) {
  ASSERT_EQ(got.size(), want.size()) << what << got;
  for (size_t i = 0; i < got.size(); ++i) {
    Json g = got[i], w = want[i];
    EXPECT_NEAR(g["score"].get<double>(), w["score"].get<double>(), 1e-5) << what;
    g.erase("score"), w.erase("score");
    // Transformers decodes words twice, which spoils characters of several tokens.
    if (w["word"].get<std::string>().find("\uFFFD") != std::string::npos)
      g.erase("word"), w.erase("word");
    EXPECT_EQ(g, w) << what;
  }
}

TEST_F(TokenRoutes, FindsTheNamesOfTransformersPipeline) {
  const Json golden = token_golden("ner/entities.json");
  for (const auto& [model, cases] : golden.items()) {
    for (const Json& c : cases) {
      const Json got =
          predict("ner_" + model, Json::array({c["text"]}),
                  {{"aggregation_strategy", c["strategy"]}, {"ignore_labels", Json::array()}});
      expect_entities_near(
          got[0], c["entities"],
          fmt::format("{} {} {}: ", model, c["strategy"].dump(), c["text"].dump()));
    }
  }
}

TEST_F(TokenRoutes, GivesEachWordTheLabelOfItsFirstToken) {
  const Json golden = token_golden("ner/entities.json");
  for (const Json& c : golden["bert"]) {
    if (c["strategy"] != "first") continue;
    Json names = Json::array();
    for (const Json& e : c["entities"])
      if (e["entity_group"] != "O") names.push_back(e);
    const std::string text = c["text"];
    expect_entities_near(predict("ner_bert", Json::array({Json{{"text", text}}}), {})[0], names,
                         text);
    const Json v2 = ask("v2/models/ner_bert/infer", tensor_of(text));
    EXPECT_EQ(v2["outputs"][0]["name"], "entities");
    const std::string list = v2["outputs"][0]["data"][0];
    expect_entities_near(Json::parse(list, nullptr, false), names, text);
  }
}

// The text from one character to before another.
std::string characters_of(const std::string& text, int64_t from, int64_t to) {
  std::string out;
  int64_t at = -1;
  for (const char c : text) {
    at += (c & 0xC0) != 0x80;
    if (at >= from && at < to) out += c;
  }
  return out;
}

TEST_F(TokenRoutes, AnswersAsAnEvaluationCounts) {
  std::vector<Json> rows;
  std::ifstream lines(kTokenGoldens + "qa/flat.jsonl");
  for (std::string line; std::getline(lines, line);)
    rows.push_back(Json::parse(line, nullptr, false));
  for (const std::string model : {"bert", "roberta"}) {
    const Json golden = token_golden("qa/" + model + ".json")["answers"];
    for (const std::string kind : {"all", "some"}) {
      Json questions = Json::array();
      for (const Json& row : rows)
        questions.push_back({{"question", row["question"]}, {"context", row["context"]}});
      const Json got = predict(kind + "_" + model, questions, {{"top_k", 5}}),
                 best = predict(kind + "_" + model, questions, {});
      for (size_t i = 0; i < rows.size(); ++i) {
        const std::string id = rows[i]["id"], context = rows[i]["context"];
        std::string want = golden[kind]["predictions"][id];
        if (want == "empty") want = "";
        EXPECT_EQ(best[i]["answer"], want) << kind << " " << id;
        EXPECT_EQ(characters_of(context, best[i]["start"], best[i]["end"]), want)
            << kind << " " << id;
        const Json list = got[i].is_array() ? got[i] : Json::array({got[i]});
        EXPECT_EQ(list[0]["answer"], best[i]["answer"]) << kind << " " << id;
        std::multimap<std::string, double> scores, wanted;
        for (const Json& one : list) scores.emplace(one["answer"], one["score"]);
        for (const Json& one : golden[kind]["nbest"][id]) {
          const std::string text = one[0];
          wanted.emplace(text == "empty" ? "" : text, one[1]);
        }
        if (wanted.size() > 5) continue;  // 5 and no answer
        ASSERT_EQ(scores.size(), wanted.size()) << kind << " " << id;
        for (auto s = scores.begin(), w = wanted.begin(); s != scores.end(); ++s, ++w)
          EXPECT_EQ(s->first, w->first) << kind << " " << id;
      }
    }
  }
}

TEST_F(TokenRoutes, ReadsQuestionsFromTensors) {
  const Json question{{"question", "What falls?"}, {"context", "Rain"}};
  const Json v1 = predict("all_bert", Json::array({question}), {});
  const Json v2 = ask("v2/models/all_bert/infer", tensor_of(question.dump()));
  EXPECT_EQ(v2["outputs"][0]["name"], "answer");
  EXPECT_EQ(v2["outputs"][0]["data"][0], v1[0]["answer"]);
  EXPECT_NEAR(v2["outputs"][1]["data"][0].get<double>(), v1[0]["score"].get<double>(), 1e-6);
}

TEST_F(TokenRoutes, EveryModelAnswersItsExample) {
  const Json models = Json::parse(http_.get(server_->url() + "/v1/models").value().body);
  for (const Json& m : models["data"]) {
    const bool names = m["id"].get<std::string>().starts_with("ner");
    EXPECT_EQ(m["task"], names ? "token-classification" : "question-answering");
    predict(m["id"], Json::array({m["example"]}), {});
  }
}

TEST_F(TokenRoutes, RefusesWhatIsNoQuestion) {
  const auto refused_by = [&](const std::string& model, const Json& instance,
                              const Json& parameters = {}) {
    return refused("v1/models/" + model + ":predict",
                   {{"instances", Json::array({instance})}, {"parameters", parameters}});
  };
  const auto has = [](const std::string& text, const char* part) {
    return text.find(part) != std::string::npos;
  };
  const Json question{{"question", "a"}, {"context", "b"}};
  std::string many;
  for (int i = 0; i < 40; ++i) many += "a b ";
  const Json long_question{{"question", many}, {"context", "b"}};
  EXPECT_TRUE(has(refused_by("all_bert", "a text"), "a text without a question"));
  EXPECT_TRUE(has(refused_by("all_bert", {{"question", "a"}}), "no text \\\"context\\\""));
  EXPECT_TRUE(has(refused_by("all_bert", {{"question", "a"}, {"context", " "}}), "no text"));
  EXPECT_TRUE(has(refused_by("all_bert", question, {{"top_k", 0}}), "top_k"));
  EXPECT_TRUE(
      has(refused_by("all_bert", question, {{"doc_stride", 1}}), "no parameter 'doc_stride'"));
  EXPECT_TRUE(has(refused_by("all_bert", long_question), "leaves room for"));
  EXPECT_TRUE(has(refused_by("ner_bert", "a", {{"aggregation_strategy", "best"}}),
                  "there is no aggregation_strategy"));
  EXPECT_TRUE(has(refused_by("ner_bert", question), "labels one text"));
  EXPECT_TRUE(has(refused_by("ner_bert", many + many), "the server takes"));
}

}  // namespace
}  // namespace hone
