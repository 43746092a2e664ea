// Tokenizer classes of encoders against Transformers: tools/golden_encoder_tokenizers.py.
#include <gmock/gmock.h>

#include "learn/tokenizers/load/test_helpers.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const json& encoder_golden() {
  static const json g = json::parse(read(goldens() / "encoders.json"));
  return g;
}

void put_file(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The folder that the golden's tokenizer was read from.
std::string encoder_folder(const std::string& kind) {
  const json& golden = encoder_golden()["tokenizers"][kind];
  const fs::path folder = fs::path(testing::TempDir()) / ("encoder " + kind);
  fs::remove_all(folder);
  fs::create_directories(folder);
  json config = golden["config"];
  config["tokenizer_class"] = kind.substr(0, kind.find(' '));
  put_file(folder / "tokenizer_config.json", config.dump());
  std::string text = read(goldens() / golden["golden"].get<std::string>());
  if (kind == "MPNetTokenizer") {
    std::istringstream lines(text);
    text.clear();
    for (std::string line; std::getline(lines, line);)
      text += encoder_golden()["special"].value(line, line) + "\n";
  }
  if (kind == "DebertaTokenizer") {
    const json mini = json::parse(text);
    json vocabulary = json::object();
    for (const char* special : {"[CLS]", "[PAD]", "[SEP]", "[UNK]"})
      vocabulary[special] = vocabulary.size();
    for (const json& token : mini["tokens"])
      vocabulary[token.get<std::string>()] = vocabulary.size();
    text = vocabulary.dump();
    std::string merges;
    for (const json& merge : mini["merges"]) merges += merge.get<std::string>() + "\n";
    put_file(folder / "merges.txt", merges);
  }
  put_file(folder / golden["file"].get<std::string>(), text);
  return folder.string();
}

TEST(EncoderTokenizers, GiveIdsAndTextsOfTransformers) {
  const auto texts = encoder_golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(encoder_golden()["parts"], 1000, 5);
  for (const auto& [kind, want] : encoder_golden()["tokenizers"].items()) {
    SCOPED_TRACE(kind);
    const Tokenizer t = must(load_tokenizer(encoder_folder(kind)));
    auto rows = encode_all(t, texts);
    for (size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(rows[i], want["ids"][i].get<std::vector<int32_t>>()) << json(texts[i]).dump();
    const auto many = encode_all(t, random);
    EXPECT_EQ(fnv_rows(many), want["random"].get<std::string>());
    const auto pair = t.encode_pair("the king", "of men");
    EXPECT_EQ(pair.ids, want["pair"].get<std::vector<int32_t>>());
    EXPECT_EQ(pair.type_ids, want["types"].get<std::vector<int32_t>>());
    EXPECT_EQ(t.mask_id(), want["mask"].get<int32_t>());
    rows.insert(rows.end(), many.begin(), many.end());
    expect_decoded(t, rows, want);
  }
}

// A saved folder has a tokenizer.json, around which the class puts its own stages again.
TEST(EncoderTokenizers, ASavedFolderGivesTheSameIds) {
  const auto texts = encoder_golden()["texts"].get<std::vector<std::string>>();
  for (const auto& [kind, want] : encoder_golden()["tokenizers"].items()) {
    SCOPED_TRACE(kind);
    const fs::path saved = fs::path(testing::TempDir()) / ("encoder saved " + kind);
    fs::remove_all(saved);
    ASSERT_TRUE(save_tokenizer(must(load_tokenizer(encoder_folder(kind))), saved.string()).ok());
    EXPECT_EQ(encode_all(must(load_tokenizer(saved.string())), texts),
              want["ids"].get<std::vector<std::vector<int32_t>>>());
  }
}

TEST(EncoderTokenizers, ASplitAtPunctuationIsRefused) {
  const std::string folder = encoder_folder("DebertaV2Tokenizer");
  put_file(fs::path(folder) / "tokenizer_config.json",
           R"({"tokenizer_class":"DebertaV2Tokenizer","split_by_punct":true})");
  const auto t = load_tokenizer(folder);
  ASSERT_FALSE(t.ok());
  EXPECT_THAT(t.error().text(), HasSubstr("H2004  DebertaV2Tokenizer with split_by_punct"));
}

}  // namespace
}  // namespace hone
