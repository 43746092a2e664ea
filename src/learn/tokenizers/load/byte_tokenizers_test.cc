// ByT5Tokenizer, and steps after ByteLevel: tools/golden_byte_tokenizers.py.
#include <gmock/gmock.h>

#include "learn/tokenizers/load/test_helpers.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const json& bytes_golden() {
  static const json g = json::parse(read(goldens() / "bytes.json"));
  return g;
}

void expect_ids(const Tokenizer& t, const json& want) {
  const auto texts = bytes_golden()["texts"].get<std::vector<std::string>>();
  const auto rows = encode_all(t, texts);
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(rows[i], want["ids"][i].get<std::vector<int32_t>>()) << json(texts[i]).dump();
}

// Transformers adds no second end token to a text that ends with one; hone does.
json with_second_end(json want) {
  const auto texts = bytes_golden()["texts"].get<std::vector<std::string>>();
  for (size_t i = 0; i < texts.size(); ++i)
    if (texts[i].ends_with("</s>")) want["ids"][i].push_back(1);
  return want;
}

TEST(ByteTokenizers, OfByT5HaveIdsOfTransformers) {
  const json want = with_second_end(bytes_golden()["byt5"]);
  const fs::path folder = fs::path(testing::TempDir()) / "byt5";
  fs::remove_all(folder);
  fs::create_directories(folder / "saved");
  std::ofstream(folder / "tokenizer_config.json") << R"({"tokenizer_class": "ByT5Tokenizer"})";
  const Tokenizer t = must(load_tokenizer(folder.string()));
  expect_ids(t, want);
  EXPECT_EQ(t.encode_pair("the king", "of men").ids, want["pair"].get<std::vector<int32_t>>());
  Encoding cut;
  const TruncateOptions five = t.truncate_options(Truncation::longest_first, 5);
  ASSERT_TRUE(t.encode_to("the king", std::nullopt, cut, {}, five).ok());
  EXPECT_EQ(cut.ids, want["cut"].get<std::vector<int32_t>>());
  EXPECT_EQ(t.decode(t.encode("naïve\n")), "naïve\n</s>");
  // A folder that was saved has the same ids.
  ASSERT_TRUE(save_tokenizer(t, (folder / "saved").string()).ok());
  expect_ids(must(load_tokenizer((folder / "saved").string())), want);

  std::ofstream(folder / "tokenizer_config.json")
      << R"({"tokenizer_class": "ByT5Tokenizer", "extra_ids": -1})";
  EXPECT_THAT(load_tokenizer(folder.string()).error().text(), HasSubstr("extra_ids is -1"));
}

json falcon_json() {
  const json mini = json::parse(read(goldens() / "mini.json"));
  json vocab = json::object();
  for (const json& token : mini["tokens"]) vocab[token.get<std::string>()] = vocab.size();
  return {{"version", "1.0"},
          {"added_tokens", json::array()},
          {"normalizer", nullptr},
          {"pre_tokenizer", bytes_golden()["falcon"]["pre_tokenizer"]},
          {"post_processor", nullptr},
          {"decoder", {{"type", "ByteLevel"}}},
          {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", mini["merges"]}}}};
}

TEST(ByteTokenizers, StepsAfterByteLevelSplitTheLetters) {
  const Tokenizer t = from_json(falcon_json().dump());
  const json& want = bytes_golden()["falcon"];
  expect_ids(t, want);
  EXPECT_EQ(fnv_rows(encode_all(t, random_texts(bytes_golden()["parts"], 1000, 5))),
            want["random"].get<std::string>());
}

TEST(ByteTokenizers, AStepThatChangesLettersIsRefused) {
  json file = falcon_json();
  file["pre_tokenizer"]["pretokenizers"][2] = {{"type", "Metaspace"}, {"replacement", "_"}};
  const auto read = read_tokenizer_json(file.dump(), "tokenizer.json");
  ASSERT_FALSE(read.ok());
  EXPECT_THAT(read.error().text(), HasSubstr("H2004"));
  EXPECT_THAT(read.error().text(), HasSubstr("Metaspace after ByteLevel"));
}

}  // namespace
}  // namespace hone
