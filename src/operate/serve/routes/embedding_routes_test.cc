// Embeddings and rerankers over HTTP, by tiny models of tests/goldens/embedding.
#include <unistd.h>

#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "base/unicode/base64.h"
#include "operate/serve/routes/asked_server_test.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
const std::string kGoldenFolder = HONE_SOURCE_DIR "/tests/goldens/embedding/";

class EmbeddingRoutes : public AskedServer {
 protected:
  // The folder of a golden, with a tokenizer of the words w0 to w34.
  static std::string with_tokenizer(const std::string& golden) {
    const fs::path folder =
        fs::temp_directory_path() / fmt::format("hone_embedding_{}_{}", getpid(), golden.size());
    fs::remove_all(folder);
    fs::copy(kGoldenFolder + golden, folder, fs::copy_options::recursive);
    std::ofstream words(folder / "vocab.txt");
    words << "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\n";
    for (int i = 0; i < 35; ++i) words << "w" << i << "\n";
    std::ofstream(folder / "tokenizer_config.json")
        << R"({"tokenizer_class": "BertTokenizer", "do_lower_case": true})";
    return folder.string();
  }
  static void SetUpTestSuite() {
    begin();
    for (const auto& [name, golden] :
         {std::pair("e", "folders/mean_normalize"), {"r", "rerank/1"}, {"c", "rerank/2"}}) {
      const std::string folder = with_tokenizer(golden);
      add(name, folder);
      fs::remove_all(folder);
    }
    serve();
  }
};

TEST_F(EmbeddingRoutes, GivesTheEmbeddingsOfSentenceTransformers) {
  const Json golden =
      Json::parse(std::ifstream(kGoldenFolder + "folders/mean_normalize/embeddings.json"));
  const Json answer = ask("v1/embeddings", {{"model", "e"}, {"input", golden["ids"]}});
  EXPECT_EQ(answer["object"], "list");
  EXPECT_EQ(answer["model"], "e");
  int64_t tokens = 0;
  for (size_t i = 0; i < golden["ids"].size(); ++i) {
    tokens += std::ssize(golden["ids"][i]);
    const Json& one = answer["data"][i];
    EXPECT_EQ(one["index"], i);
    EXPECT_EQ(one["object"], "embedding");
    for (size_t j = 0; j < 16; ++j)
      EXPECT_NEAR(one["embedding"][j].get<double>(), golden["embeddings"][i][j].get<double>(),
                  1e-5);
  }
  EXPECT_EQ(answer["usage"]["prompt_tokens"], tokens);
  EXPECT_EQ(answer["usage"]["total_tokens"], tokens);
}

TEST_F(EmbeddingRoutes, TakesFormsOfInputAndOutput) {
  const Json one = ask("v1/embeddings", {{"model", "e"}, {"input", "w1 w2"}});
  ASSERT_EQ(one["data"].size(), 1u);
  EXPECT_EQ(one["usage"]["prompt_tokens"], 4);  // with [CLS] and [SEP]
  const auto values = one["data"][0]["embedding"].get<std::vector<float>>();
  const Json packed = ask(
      "v1/embeddings", {{"model", "e"}, {"input", {"w3", "w1 w2"}}, {"encoding_format", "base64"}});
  std::string bytes;
  ASSERT_TRUE(decode_base64(packed["data"][1]["embedding"].get<std::string>(), bytes));
  ASSERT_EQ(bytes.size(), values.size() * sizeof(float));
  std::vector<float> unpacked(values.size());
  std::memcpy(unpacked.data(), bytes.data(), bytes.size());
  for (size_t j = 0; j < values.size(); ++j) EXPECT_NEAR(unpacked[j], values[j], 1e-6);
  const Json cut = ask("v1/embeddings", {{"model", "e"}, {"input", "w1 w2"}, {"dimensions", 3}});
  const auto part = cut["data"][0]["embedding"].get<std::vector<double>>();
  ASSERT_EQ(part.size(), 3u);
  double squares = 0;
  for (const double x : part) squares += x * x;
  EXPECT_NEAR(squares, 1, 1e-5);
  EXPECT_NEAR(part[0] / part[1], static_cast<double>(values[0] / values[1]), 1e-3);
}

TEST_F(EmbeddingRoutes, RefusesByKey) {
  const auto names = [](const std::string& text, const std::string& word) {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  names(refused("v1/embeddings", {{"model", "e"}}), "input");
  names(refused("v1/embeddings", {{"model", "e"}, {"input", "w1"}, {"dimensions", 17}}),
        "dimensions");
  names(refused("v1/embeddings", {{"model", "e"}, {"input", "w1"}, {"encoding_format", "hex"}}),
        "encoding_format");
  names(refused("v1/embeddings", {{"model", "e"}, {"input", "w1"}, {"pooling", "max"}}), "pooling");
  names(refused("v1/embeddings", {{"model", "r"}, {"input", "w1"}}), "text-classification");
  names(refused("v1/rerank", {{"model", "c"}, {"query", "w1"}, {"documents", {"w2"}}}),
        "single score");
  names(refused("v1/rerank", {{"model", "r"}, {"query", "w1"}, {"documents", Json::array()}}),
        "documents");
  names(
      refused("v1/rerank", {{"model", "r"}, {"query", "w1"}, {"documents", {"w2"}}, {"top_n", 0}}),
      "top_n");
  names(refused("v1/rerank", {{"model", "r"}, {"documents", {"w2"}}}), "query");
  EXPECT_EQ(post("v1/completions", {{"model", "e"}, {"prompt", "w1"}}).status, 400);
}

TEST_F(EmbeddingRoutes, RanksDocuments) {
  const Json all = ask("v1/rerank", {{"model", "r"},
                                     {"query", "w1 w2"},
                                     {"documents", {"w3 w4", {{"text", "w5"}}, "w6 w7 w8", "w9"}},
                                     {"return_documents", true}});
  ASSERT_EQ(all["results"].size(), 4u);
  for (size_t i = 0; i < 4; ++i) {
    const double score = all["results"][i]["relevance_score"];
    EXPECT_GT(score, 0);
    EXPECT_LT(score, 1);
    if (i > 0) {
      EXPECT_GE(all["results"][i - 1]["relevance_score"].get<double>(), score);
    }
  }
  const size_t best = all["results"][0]["index"];
  EXPECT_EQ(all["results"][0]["document"]["text"],
            (std::vector<std::string>{"w3 w4", "w5", "w6 w7 w8", "w9"}[best]));
  const Json top = ask("v1/rerank", {{"model", "r"},
                                     {"query", "w1 w2"},
                                     {"documents", {"w3 w4", "w5", "w6 w7 w8", "w9"}},
                                     {"top_n", 2}});
  ASSERT_EQ(top["results"].size(), 2u);
  EXPECT_EQ(top["results"][0]["index"], best);
  EXPECT_FALSE(top["results"][0].contains("document"));
  // text-embeddings-inference names no model: the only one that scores pairs answers.
  const Json plain =
      ask("rerank", {{"query", "w1 w2"}, {"texts", {"w3 w4", "w5", "w6 w7 w8", "w9"}}});
  ASSERT_EQ(plain.size(), 4u);
  EXPECT_EQ(plain[0]["index"], best);
  const Json raw = ask("rerank", {{"query", "w1 w2"},
                                  {"texts", {"w3 w4", "w5", "w6 w7 w8", "w9"}},
                                  {"raw_scores", true},
                                  {"return_text", true}});
  const double logit = raw[0]["score"];
  EXPECT_NEAR(1 / (1 + std::exp(-logit)), plain[0]["score"].get<double>(), 1e-6);
  EXPECT_TRUE(raw[0]["text"].is_string());
}

TEST_F(EmbeddingRoutes, GivesTensorsAndPredictionsToo) {
  for (const std::string name : {"e", "r", "c"}) {
    const Json described =
        Json::parse(http_.get(server_->url() + "/v1/models/" + name).value().body);
    Json body;
    body["instances"].push_back(described["example"]);
    EXPECT_EQ(post("v1/models/" + name + ":predict", body).status, 200) << described;
  }
  const Json one = ask("v1/embeddings", {{"model", "e"}, {"input", "w1 w2"}});
  const Json predicted = ask("v1/models/e:predict", {{"instances", {"w1 w2"}}});
  const Json tensors = ask(
      "v2/models/e/infer",
      {{"inputs",
        {{{"name", "text_input"}, {"datatype", "BYTES"}, {"shape", {1}}, {"data", {"w1 w2"}}}}}});
  EXPECT_EQ(tensors["outputs"][0]["name"], "embedding");
  EXPECT_EQ(tensors["outputs"][0]["shape"], Json::array({1, 16}));
  for (size_t j = 0; j < 16; ++j) {
    const double want = one["data"][0]["embedding"][j];
    EXPECT_NEAR(predicted["predictions"][0]["embeddings"]["values"][j].get<double>(), want, 1e-6);
    EXPECT_NEAR(tensors["outputs"][0]["data"][j].get<double>(), want, 1e-6);
  }
}

}  // namespace
}  // namespace hone
