// WordPiece against goldens of tokenizers and Transformers: tools/golden_wordpiece.py.
#include "learn/tokenizers/stages/wordpiece.h"

#include <gmock/gmock.h>

#include "base/unicode/unicode.h"
#include "learn/tokenizers/load/test_helpers.h"
#include "learn/tokenizers/text/json_dom.h"
#include "learn/tokenizers/text/prefix_trie.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const json& wordpiece_golden() {
  static const json g = json::parse(read(goldens() / "wordpiece.json"));
  return g;
}
const std::string& vocab_txt() {
  static const std::string text = read(goldens() / "wordpiece.txt");
  return text;
}
Tokenizer from_txt(const TokenizerConfig& config = {}) {
  return must(Tokenizer::make(must(read_vocab_txt(vocab_txt(), "vocab.txt", config))));
}
std::string wordpiece_pipeline_json(const json& pipeline) {
  static const json made = json::parse(tokenizer_json(from_txt()));
  json spec = pipeline["spec"];
  spec["model"] = pipeline["model"];
  spec["model"]["vocab"] = made["model"]["vocab"];
  return spec.dump();
}

TEST(WordPiece, EveryPipelineGivesTheIdsOfHuggingFace) {
  const auto texts = wordpiece_golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(wordpiece_golden()["parts"], 2000, 1);
  for (const auto& [name, want] : wordpiece_golden()["pipelines"].items()) {
    SCOPED_TRACE(name);
    const Tokenizer t = from_json(wordpiece_pipeline_json(want));
    const auto rows = expect_pipeline(t, want, texts, random);
    const Encoding pair = t.encode_pair("Hello the king", " world");
    EXPECT_EQ(pair.ids, want["pair"].get<std::vector<int32_t>>());
    EXPECT_EQ(pair.type_ids, want["pair_types"].get<std::vector<int32_t>>());
    EXPECT_EQ(encode_all(from_json(tokenizer_json(t)), texts), rows);
  }
}

// Hashes over every character of Unicode.
std::string fnv_every_char(FunctionRef<uint64_t(uint64_t, const std::string&)> more) {
  uint64_t h = kFnvBasis;
  for (uint32_t c = 0; c < 0x110000; ++c) {
    if (c >= 0xd800 && c < 0xe000) continue;
    std::string text;
    append_utf8(text, c);
    h = more(h, text);
  }
  return fmt::format("{:016x}", h);
}

TEST(WordPiece, NormalizersKnowEveryCharacter) {
  for (const auto& [name, want] : wordpiece_golden()["every"].items()) {
    const std::string text = want["spec"].dump();
    const JsonDocument spec = must(JsonDocument::parse(text, name));
    const auto normalizer = must(make_normalizer({spec.root(), name}, {}));
    std::string buffer;
    const std::string hash = fnv_every_char([&](uint64_t h, const std::string& c) {
      for (const char byte : normalizer->normalize("a" + c + "\xCC\x96" + "b", buffer))
        h = fnv(h, static_cast<unsigned char>(byte));
      return h;
    });
    EXPECT_EQ(hash, want["hash"].get<std::string>()) << name;
  }
}

TEST(WordPiece, ThePreTokenizerKnowsEveryCharacter) {
  const JsonDocument spec = must(JsonDocument::parse(R"({"type":"BertPreTokenizer"})", "x"));
  const auto cut = must(make_pre_tokenizer({spec.root(), "x"}, {}));
  const std::string hash = fnv_every_char([&](uint64_t h, const std::string& c) {
    cut->split("a" + c + "b", true,
               [&](std::string_view piece) { h = fnv(h, static_cast<uint32_t>(piece.size())); });
    return h;
  });
  EXPECT_EQ(hash, wordpiece_golden()["every_split"].get<std::string>());
}

TEST(WordPiece, VocabTxtNamesTokensAndHasBertsStages) {
  const Tokenizer t = from_txt();
  EXPECT_EQ(t.pad_id(), 0);
  EXPECT_EQ(t.unk_id(), 1);
  EXPECT_EQ(t.id_of("[CLS]"), 2);
  EXPECT_EQ(t.id_of("[SEP]"), 3);
  EXPECT_EQ(t.mask_id(), 4);
  const auto texts = wordpiece_golden()["texts"].get<std::vector<std::string>>();
  const json& pipelines = wordpiece_golden()["pipelines"];
  EXPECT_EQ(fnv_rows(encode_all(t, texts)), pipelines["uncased"]["ids"].get<std::string>());
  TokenizerConfig config;
  config.lowercase = false;
  EXPECT_EQ(fnv_rows(encode_all(from_txt(config), texts)),
            pipelines["cased"]["ids"].get<std::string>());
  // A tokenizer.json gets the stages of the class.
  config.tokenizer_class = "BertTokenizer";
  EXPECT_EQ(
      fnv_rows(encode_all(from_json(wordpiece_pipeline_json(pipelines["uncased"]), config), texts)),
      pipelines["cased"]["ids"].get<std::string>());
}

TEST(WordPiece, FoldersComeBack) {
  const fs::path folder = fs::path(::testing::TempDir()) / "wordpiece_folder";
  fs::remove_all(folder);
  fs::create_directories(folder / "in");
  std::ofstream(folder / "in/vocab.txt", std::ios::binary) << vocab_txt();
  std::ofstream(folder / "in/tokenizer_config.json")
      << R"({"tokenizer_class":"BertTokenizer","do_lower_case":false,"model_max_length":512})";
  const Tokenizer t = must(load_tokenizer((folder / "in").string()));
  EXPECT_EQ(t.model_max_length(), 512);
  ASSERT_TRUE(save_tokenizer(t, (folder / "out").string()).ok());
  EXPECT_EQ(read(folder / "out/vocab.txt"), vocab_txt());
  const auto texts = wordpiece_golden()["texts"].get<std::vector<std::string>>();
  EXPECT_EQ(encode_all(must(load_tokenizer((folder / "out").string())), texts),
            encode_all(t, texts));
  EXPECT_EQ(fnv_rows(encode_all(t, texts)),
            wordpiece_golden()["pipelines"]["cased"]["ids"].get<std::string>());
  fs::remove_all(folder);
}

TEST(WordPiece, BytesThatAreNoUtf8AreUnknown) {
  const Tokenizer t = from_txt();
  EXPECT_EQ(t.encode("the \xff\xfe the"), (std::vector{2, *t.id_of("the"), 1, *t.id_of("the"), 3}));
}

TEST(WordPiece, ErrorsNamePlaceAndRemedy) {
  const auto error = [](const std::string& text, const TokenizerConfig& config = {}) {
    auto parts = read_vocab_txt(text, "ckpt/vocab.txt", config);
    return parts.ok() ? "no error" : parts.error().text();
  };
  EXPECT_EQ(error("[UNK]\n[CLS]\r\n[SEP] \na"), "no error");
  EXPECT_THAT(error(""), HasSubstr("H2005  the unknown token \"[UNK]\" is not in the vocabulary"));
  EXPECT_THAT(error("[UNK]\na\n"), HasSubstr("needs the tokens [CLS] and [SEP]"));
  EXPECT_THAT(error("[UNK]\na\n"), HasSubstr("ckpt/vocab.txt"));
  EXPECT_THAT(error("[UNK]\na\xff\n"), HasSubstr("is not UTF-8"));
  EXPECT_THAT(error("[UNK]\na\xff\n"), HasSubstr("ckpt/vocab.txt:2"));
  EXPECT_THAT(error(std::string("[UNK]\na\0b\n", 10)), HasSubstr("is binary"));
  const auto json_error = [](const std::string& model) {
    auto parts = read_tokenizer_json(R"({"model":{"type":"WordPiece",)" + model + "}}", "t", {});
    return parts.ok() ? "no error" : parts.error().text();
  };
  EXPECT_THAT(json_error(R"("vocab":{"a":0})"), HasSubstr("H2005"));
  EXPECT_THAT(json_error(R"("vocab":{"a":0})"), HasSubstr("t: model"));
  EXPECT_THAT(json_error(R"("vocab":["a"])"), HasSubstr("H2002"));
  EXPECT_EQ(json_error(R"("unk_token":"a","vocab":{"a":0})"), "no error");
}

TEST(PrefixTrie, FindsWhatASearchFinds) {
  uint64_t state = 5;
  const auto draw = [&](uint64_t n) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return (state >> 33) % n;
  };
  const auto text_of = [&](uint64_t most) {
    std::string text;
    for (uint64_t n = draw(most); n > 0; --n)
      text += draw(3) ? "abc"[draw(3)] : static_cast<char>(draw(256));
    return text;
  };
  std::vector<std::string> words(3000);
  std::vector<PrefixTrie::Key> keys;
  for (std::string& word : words) {
    word = text_of(9);
    keys.emplace_back(word, static_cast<int32_t>(keys.size()));
  }
  const PrefixTrie trie(keys);
  for (int i = 0; i < 2000; ++i) {
    const std::string text = text_of(12);
    std::vector<std::pair<size_t, int32_t>> found, want;
    trie.each_prefix(text.data(), text.data() + text.size(), [&](const char* end, int32_t value) {
      found.emplace_back(end - text.data(), value);
    });
    for (size_t n = 1; n <= text.size(); ++n)
      for (size_t k = words.size(); k-- > 0;)
        if (words[k] == text.substr(0, n)) {
          want.emplace_back(n, static_cast<int32_t>(k));
          break;
        }
    EXPECT_EQ(found, want);
  }
  const std::string zeros(3, '\0');
  PrefixTrie().each_prefix(zeros.data(), zeros.data() + 3, [](const char*, int32_t) { FAIL(); });
}

TEST(RealWordPiece, GivesTheIdsOfItsAuthors) {
  const fs::path data = data_folder();
  if (!fs::exists(data / "tok-bert-uncased"))
    GTEST_SKIP() << "no tok-bert-uncased in HONE_DATA " << data;
  const json real = json::parse(read(goldens() / "real_wordpiece.json"));
  const auto texts = wordpiece_golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(wordpiece_golden()["parts"], 5000, 7);
  for (const auto& [name, want] : real.items()) {
    SCOPED_TRACE(name);
    expect_golden_ids(must(load_tokenizer((data / name).string())), want, texts, random);
  }
}

TEST(RealWordPiece, GivesTheIdsOfLlamaCpp) {
  const fs::path data = data_folder();
  if (!fs::exists(data / "tok-gguf")) GTEST_SKIP() << "no tok-gguf in HONE_DATA " << data;
  const Tokenizer t = must(load_tokenizer((data / "tok-bert-uncased").string()));
  const HardTexts hard = hard_texts("bert-bge");
  EXPECT_EQ(hard.texts.size(), 46u);
  for (size_t i = 0; i < hard.texts.size(); ++i)
    EXPECT_EQ(t.encode(hard.texts[i], {.add_special_tokens = false}), hard.ids[i]) << hard.texts[i];
}

}  // namespace
}  // namespace hone
