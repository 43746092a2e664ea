// Tokenizers of translation models against Transformers: tools/golden_translation_tokenizers.py.
#include <gmock/gmock.h>

#include "learn/tokenizers/load/test_helpers.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const json& translation_golden() {
  static const json g = json::parse(read(goldens() / "translation.json"));
  return g;
}

void write(const fs::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

// The folder that the translation_golden's tokenizer was read from.
std::string folder_of(const std::string& kind) {
  const fs::path folder = fs::path(testing::TempDir()) / ("translation " + kind);
  fs::remove_all(folder);
  fs::create_directories(folder);
  json config = translation_golden()["tokenizers"][kind]["config"];
  config["tokenizer_class"] = kind.substr(0, kind.find(' '));
  write(folder / "tokenizer_config.json", config.dump());
  const auto copy = [&](const char* from, const char* to) {
    write(folder / to, read(goldens() / from));
  };
  if (!kind.starts_with("Marian")) {
    if (kind.starts_with("Pegasus"))
      copy("pegasus.model", "spiece.model");
    else
      copy("unigram.model", "sentencepiece.bpe.model");
    return folder.string();
  }
  copy("unigram.model", "source.spm");
  copy("marian_target.model", "target.spm");
  const bool separate = config.contains("separate_vocabs");
  write(folder / "vocab.json",
        translation_golden()["vocabularies"][separate ? "source" : "shared"].dump());
  if (separate)
    write(folder / "target_vocab.json", translation_golden()["vocabularies"]["target"].dump());
  return folder.string();
}

TEST(Translation, GivesIdsAndTextsOfTransformers) {
  const auto texts = translation_golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(translation_golden()["parts"], 1000, 5);
  for (const auto& [kind, want] : translation_golden()["tokenizers"].items())
    for (const bool targets : {false, true}) {
      SCOPED_TRACE(kind + (targets ? " targets" : " sources"));
      const json& side = want[targets ? "targets" : "sources"];
      const Tokenizer t = must(load_tokenizer(folder_of(kind), {.targets = targets}));
      auto rows = encode_all(t, texts);
      for (size_t i = 0; i < texts.size(); ++i)
        EXPECT_EQ(rows[i], side["ids"][i].get<std::vector<int32_t>>()) << json(texts[i]).dump();
      const auto many = encode_all(t, random);
      EXPECT_EQ(fnv_rows(many), side["random"].get<std::string>());
      if (!targets) {
        EXPECT_EQ(t.encode_pair("the king", "of men").ids,
                  want["pair"].get<std::vector<int32_t>>());
      }
      if (!side.contains("decoded")) continue;
      rows.insert(rows.end(), many.begin(), many.end());
      expect_decoded(t, rows, side);
    }
}

TEST(Translation, ASavedFolderGivesTheSameIds) {
  const auto texts = translation_golden()["texts"].get<std::vector<std::string>>();
  for (const auto& [kind, want] : translation_golden()["tokenizers"].items()) {
    SCOPED_TRACE(kind);
    const fs::path saved = fs::path(testing::TempDir()) / ("translation saved " + kind);
    fs::remove_all(saved);
    ASSERT_TRUE(save_tokenizer(must(load_tokenizer(folder_of(kind))), saved.string()).ok());
    for (const bool targets : {false, true})
      EXPECT_EQ(
          encode_all(must(load_tokenizer(saved.string(), {.targets = targets})), texts),
          want[targets ? "targets" : "sources"]["ids"].get<std::vector<std::vector<int32_t>>>());
  }
}

TEST(Translation, LanguagesAreThoseOfTheCallOrTheFolder) {
  const std::string folder = folder_of("MBartTokenizer");
  const auto last = [&](const TokenizerSide& side) {
    const Tokenizer t = must(load_tokenizer(folder, side));
    return *t.token_of(t.encode("the").back());
  };
  EXPECT_EQ(last({}), "en_XX");
  EXPECT_EQ(last({.targets = true}), "ro_RO");
  EXPECT_EQ(last({.source_lang = "de_DE"}), "de_DE");
  EXPECT_EQ(last({.targets = true, .target_lang = "cs_CZ"}), "cs_CZ");
  const auto wrong = load_tokenizer(folder, {.source_lang = "de"});
  ASSERT_FALSE(wrong.ok());
  EXPECT_THAT(wrong.error().text(), HasSubstr("H2005  the tokenizer has no language \"de\""));
}

TEST(Translation, OtherClassesAreRefused) {
  const std::string folder = folder_of("XLMRobertaTokenizer");
  write(fs::path(folder) / "tokenizer_config.json", R"({"tokenizer_class":"NllbTokenizer"})");
  const auto t = load_tokenizer(folder);
  ASSERT_FALSE(t.ok());
  EXPECT_THAT(t.error().text(), HasSubstr("H2004  a SentencePiece model whose ids NllbTokenizer"));
}

TEST(RealTranslation, MarianGivesTheIdsOfTransformers) {
  const fs::path data = data_folder();
  if (!fs::exists(data / "tok-marian-en-mg")) GTEST_SKIP() << "no tok-marian-en-mg in " << data;
  const auto random = random_texts(translation_golden()["parts"], 1000, 5);
  for (const bool targets : {false, true}) {
    const json& want = translation_golden()["tok-marian-en-mg"][targets ? "targets" : "sources"];
    const Tokenizer t =
        must(load_tokenizer((data / "tok-marian-en-mg").string(), {.targets = targets}));
    EXPECT_EQ(t.model_max_length(), 512);
    EXPECT_EQ(fnv_rows(encode_all(t, random)), want["random"].get<std::string>());
    std::vector<std::string> lines;
    std::ifstream in(data / "wikitext2/test.txt");
    for (std::string line; lines.size() < 500 && std::getline(in, line);) lines.push_back(line);
    const auto rows = encode_all(t, lines);
    EXPECT_EQ(fnv_rows(rows), want["lines"].get<std::string>());
    std::vector<std::vector<int>> skipped;
    for (const auto& row : rows) skipped.push_back(bytes_of(t.decode(row, true)));
    EXPECT_EQ(fnv_rows(skipped), want["skipped"].get<std::string>());
  }
}

}  // namespace
}  // namespace hone
