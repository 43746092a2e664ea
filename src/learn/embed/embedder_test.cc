// Folders that sentence-transformers has saved (tests/goldens/embedding/folders): their embeddings, and the folders
// that hone writes.
#include "learn/embed/embedder.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/core/json.h"
#include "base/store/temporary_folder.h"
#include "engine/backends/backends.h"
#include "learn/embed/vectors_file.h"
#include "learn/pretrained/errors.h"
#include "learn/pretrained/sentence_modules.h"

namespace hone {
namespace {

namespace fs = std::filesystem;
const std::string kFolders = HONE_SOURCE_DIR "/tests/goldens/embedding/folders/";

Json wanted_of(const std::string& name) {
  return Json::parse(std::ifstream(kFolders + name + "/embeddings.json"));
}

// The embeddings of the golden's texts by the model of `folder`.
std::vector<float> embeddings_of(const std::string& folder, const Json& golden, int64_t texts,
                                 std::vector<size_t> order) {
  Pretrained model = open_pretrained(folder, {.need_tokenizer = false}).value();
  const auto modules = read_sentence_modules(folder).value();
  EXPECT_TRUE(modules.has_value());
  const Status made = embed_with(model, *modules);
  EXPECT_TRUE(made.ok()) << made.error().text();
  const auto backend = open_backend("cpu", {.threads = 2}).value();
  const auto embedder = TextEmbedder::make(model, *backend, {.tokens = 16, .texts = texts}).value();
  std::vector<std::vector<int32_t>> rows;
  for (const size_t i : order) rows.push_back(golden["ids"][i].get<std::vector<int32_t>>());
  std::vector<float> out(rows.size() * static_cast<size_t>(embedder->width()));
  EXPECT_TRUE(embedder->embed(rows, out).ok());
  return out;
}

void expect_golden(std::span<const float> found, const Json& golden,
                   const std::vector<size_t>& order) {
  const size_t width = golden["embeddings"][0].size();
  ASSERT_EQ(found.size(), order.size() * width);
  for (size_t i = 0; i < order.size(); ++i)
    for (size_t j = 0; j < width; ++j)
      EXPECT_NEAR(found[i * width + j], golden["embeddings"][order[i]][j].get<double>(), 1e-5);
}

class EmbedderTest : public testing::TestWithParam<std::string> {};

TEST_P(EmbedderTest, HasTheEmbeddingsOfSentenceTransformersInTheOrderOfTheTexts) {
  const Json golden = wanted_of(GetParam());
  for (const std::vector<size_t>& order :
       {std::vector<size_t>{0, 1, 2, 3, 4}, {4, 2, 0, 3, 1}, {2}})
    for (const int64_t texts : {1, 3})
      expect_golden(embeddings_of(kFolders + GetParam(), golden, texts, order), golden, order);
}

// The files that hone writes mean the same as those it read.
TEST_P(EmbedderTest, WritesFoldersThatItReads) {
  const Json golden = wanted_of(GetParam());
  const TemporaryFolder out;
  const std::string from = kFolders + GetParam();
  Pretrained model = open_pretrained(from, {.need_tokenizer = false}).value();
  const SentenceModules modules = *read_sentence_modules(from).value();
  ASSERT_TRUE(embed_with(model, modules).ok());
  ASSERT_TRUE(save_pretrained(out.path, *model.weights, model).ok());
  ASSERT_TRUE(write_sentence_modules(out.path, modules, model.config.hidden).ok());
  for (const EmbeddingDense& dense : modules.form.dense) {
    const auto values = [&](const std::string& name) {
      const TensorInfo* t = model.weights->find(dense.folder + ".linear." + name);
      std::vector<float> v(static_cast<size_t>(t->type.count()));
      EXPECT_TRUE(
          model.weights->read(t->name, DType::f32, std::as_writable_bytes(std::span(v))).ok());
      return v;
    };
    ASSERT_TRUE(write_dense(out.path, dense, values("weight"),
                            dense.bias ? values("bias") : std::vector<float>())
                    .ok());
  }
  const SentenceModules again = *read_sentence_modules(out.path).value();
  EXPECT_EQ(again.prompts, modules.prompts);
  EXPECT_EQ(again.max_seq_length, modules.max_seq_length);
  const std::vector<size_t> order{0, 1, 2, 3, 4};
  expect_golden(embeddings_of(out.path, golden, 5, order), golden, order);
}

INSTANTIATE_TEST_SUITE_P(All, EmbedderTest,
                         testing::Values("mean_normalize", "cls_dense", "two_modes", "t5", "umt5"),
                         [](const auto& info) { return info.param; });

TEST(SentenceModules, UnknownKeysAndValuesAreRefusedByName) {
  const auto refused = [](const std::string& file, const std::string& was, const std::string& is) {
    const TemporaryFolder folder;
    fs::copy(kFolders + "cls_dense", folder.path,
             fs::copy_options::recursive | fs::copy_options::overwrite_existing);
    std::ifstream in(folder.path + "/" + file);
    std::string text(std::istreambuf_iterator<char>(in), {});
    const size_t at = text.find(was);
    EXPECT_NE(at, std::string::npos) << file << " has no " << was;
    text.replace(at, was.size(), is);
    std::ofstream(folder.path + "/" + file) << text;
    const auto read = read_sentence_modules(folder.path);
    if (read.ok()) return std::string("accepted");
    EXPECT_TRUE(read.error().is(err::kSentenceModules)) << read.error().text();  // H2286
    return read.error().text();
  };
  const auto names = [](const std::string& text, const std::string& word) {
    EXPECT_NE(text.find(word), std::string::npos) << text;
  };
  names(refused("1_Pooling/config.json", "\"cls\"", "\"weightedmean\""), "weightedmean");
  names(refused("1_Pooling/config.json", "\"include_prompt\": true", "\"include_prompt\": false"),
        "include_prompt");
  names(refused("1_Pooling/config.json", "\"include_prompt\"", "\"pool_twice\""), "pool_twice");
  names(refused("2_Dense/config.json", "Tanh", "Softmax"), "Softmax");
  names(refused("2_Dense/config.json", "\"bias\"", "\"use_residual\": true, \"bias\""),
        "use_residual");
  names(refused("modules.json", "pooling.Pooling", "pooling.LSTM"), "LSTM");
  names(refused("modules.json", "sentence_transformers.base.modules.dense", "my_modules"),
        "my_modules");
  names(refused("config_sentence_transformers.json", "\"cosine\"", "\"euclidean\""), "euclidean");
  EXPECT_EQ(refused("1_Pooling/config.json", "\"cls\"", "\"max\""), "accepted");
}

TEST(SentenceModules, PromptsHaveNames) {
  SentenceModules modules = *read_sentence_modules(kFolders + "cls_dense").value();
  EXPECT_EQ(modules.prompt("query").value(), "find: ");
  EXPECT_EQ(modules.prompt("").value(), "");
  EXPECT_TRUE(modules.prompt("passage").error().is(err::kSentenceModules));
  modules.default_prompt_name = "query";
  EXPECT_EQ(modules.prompt("").value(), "find: ");
}

TEST(SentenceModules, AFolderWithoutModulesHasNone) {
  EXPECT_FALSE(
      read_sentence_modules(HONE_SOURCE_DIR "/tests/goldens/embedding/model").value().has_value());
}

TEST(VectorsFile, NpyHasNumpysHeader) {
  const TemporaryFolder folder;
  const std::vector<float> values{1, 2, 3, 4.5, -5, 6};
  const std::string file = folder.path + "/x.npy";
  ASSERT_TRUE(write_vectors(file, vector_format_of(file), values, 3).ok());
  std::ifstream in(file, std::ios::binary);
  const std::string text(std::istreambuf_iterator<char>(in), {});
  ASSERT_EQ(text.size(), 128 + values.size() * sizeof(float));
  EXPECT_EQ(text.substr(0, 8), std::string("\x93NUMPY\x01\x00", 8));
  EXPECT_EQ(text.substr(10, 59), "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }");
  EXPECT_EQ(text[127], '\n');
  float last = 0;
  std::memcpy(&last, text.data() + 128 + 3 * sizeof(float), sizeof last);
  EXPECT_EQ(last, 4.5f);
  EXPECT_EQ(vector_line(std::span(values).subspan(3)), "{\"embedding\": [4.5, -5, 6]}\n");
  EXPECT_EQ(vector_format_of("x.csv"), "");
}

}  // namespace
}  // namespace hone
