// SentencePiece BPE against goldens of sentencepiece and tokenizers: tools/golden_sentencepiece.py.
#include <gmock/gmock.h>

#include <bit>
#include <ctime>

#include "base/unicode/unicode.h"
#include "learn/tokenizers/load/test_helpers.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const json& golden() {
  static const json g = json::parse(read(goldens() / "sentencepiece.json"));
  return g;
}
const std::string& model_bytes() {
  static const std::string bytes = read(goldens() / "sentencepiece.model");
  return bytes;
}
Tokenizer from_model(const TokenizerConfig& config = {}) {
  return must(Tokenizer::make(must(read_sentencepiece(model_bytes(), "mini", config))));
}
// A pipeline of the golden around the vocabulary and the merges that hone makes of the model.
std::string pipeline_json(const json& pipeline) {
  static const json made = json::parse(tokenizer_json(from_model()));
  json spec = pipeline["spec"];
  spec["model"] = pipeline["model"];
  spec["model"]["vocab"] = made["model"]["vocab"];
  spec["model"]["merges"] = made["model"]["merges"];
  return spec.dump();
}

TEST(SentencePiece, GivesTheIdsOfSentencePiece) {
  const Tokenizer t = from_model();
  const json& want = golden()["sentencepiece"];
  const auto texts = want["texts"].get<std::vector<std::string>>();
  for (size_t i = 0; i < texts.size(); ++i)
    EXPECT_EQ(t.encode(texts[i], kPlain), want["ids"][i].get<std::vector<int32_t>>())
        << json(texts[i]).dump();
  auto random = random_texts(golden()["parts"], 2000, 1);
  for (std::string& text : random)
    for (size_t at; (at = text.find("<sep>")) != text.npos;) text.erase(at, 5);
  EXPECT_EQ(fnv_rows(encode_all(t, random, kPlain)), want["random"].get<std::string>());
}

TEST(SentencePiece, EveryPipelineGivesTheIdsOfHuggingFace) {
  const auto texts = golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(golden()["parts"], 2000, 1);
  for (const auto& [name, want] : golden()["pipelines"].items()) {
    SCOPED_TRACE(name);
    const Tokenizer t = from_json(pipeline_json(want));
    const auto rows = expect_pipeline(t, want, texts, random);
    for (size_t i = 0; i < golden()["broken"].size(); ++i)
      EXPECT_EQ(t.decode(golden()["broken"][i].get<std::vector<int32_t>>()),
                want["broken"][i].get<std::string>());
    const Tokenizer again = from_json(tokenizer_json(t));
    EXPECT_EQ(encode_all(again, texts), rows);
  }
}

TEST(SentencePiece, EveryByteComesBackAndStreams) {
  std::string all;
  for (int b = 255; b >= 0; --b) all += static_cast<char>(b);
  const Tokenizer t = from_model();
  for (const std::string& text :
       {all, std::string("\xf0\x9f\x98 \xc3x"), std::string("é 中 😀 the")}) {
    const auto ids = t.encode(text, kPlain);
    EXPECT_EQ(t.decode_bytes(ids), text);
    StreamingDecoder stream(t);
    std::string streamed;
    for (const int32_t id : ids) streamed += stream.push(id);
    EXPECT_EQ(streamed + stream.finish(), lossy_utf8(text));
  }
  StreamingDecoder stream(t);
  const auto ids = t.encode("a 😀", kPlain);
  for (size_t i = 0; i + 1 < ids.size(); ++i)
    EXPECT_EQ(stream.push(ids[i]).find("\xEF\xBF\xBD"), std::string::npos);
  EXPECT_EQ(stream.push(ids.back()), "😀");
}

TEST(SentencePiece, LongTextsWithoutSpacesAreNoTrap) {
  const Tokenizer t = from_model();
  std::string letters;
  for (int64_t i = 0; i < (1 << 20); ++i) letters += "etaoinsh"[i * i % 7919 % 8];
  const std::clock_t start = std::clock();
  EXPECT_EQ(t.decode(t.encode(letters, kPlain)), letters);
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 20);
}

TEST(SentencePiece, LlamaTokenizerSetsItsOwnStages) {
  TokenizerConfig config;
  config.tokenizer_class = "LlamaTokenizer";
  const json& pipelines = golden()["pipelines"];
  const auto texts = golden()["texts"].get<std::vector<std::string>>();
  const auto same = [&](const char* name) {
    const auto want = pipelines[name]["ids"].get<std::string>();
    TokenizerConfig plain = config;
    plain.add_bos = name == std::string("first");
    EXPECT_EQ(fnv_rows(encode_all(from_model(plain), texts)), want) << name;
    // A tokenizer.json of any pipeline gets the stages of the class, but keeps its post-processor.
    json other = pipelines["legacy"];
    if (!*plain.add_bos) other["spec"]["post_processor"] = nullptr;
    EXPECT_EQ(fnv_rows(encode_all(from_json(pipeline_json(other), config), texts)), want) << name;
  };
  same("first");
  config.legacy_prefix = true;
  same("always");
  config.add_prefix_space = false;
  same("never");
}

TEST(SentencePiece, NamesTokensAndAddsBosAndEos) {
  const Tokenizer t = from_model();
  EXPECT_EQ(t.bos_id(), 1);
  EXPECT_EQ(t.eos_id(), 2);
  EXPECT_EQ(t.unk_id(), 0);
  EXPECT_EQ(t.pad_id(), std::nullopt);
  EXPECT_EQ(t.vocab_size(), 800);
  EXPECT_TRUE(t.is_special(1));
  EXPECT_FALSE(t.is_special(*t.id_of("<sep>")));
  EXPECT_EQ(t.encode(""), (std::vector<int32_t>{1}));
  TokenizerConfig config;
  config.add_bos = false;
  config.add_eos = true;
  EXPECT_EQ(from_model(config).encode(""), (std::vector<int32_t>{2}));
}

TEST(SentencePiece, FoldersComeBack) {
  const fs::path folder = fs::path(::testing::TempDir()) / "sentencepiece_folder";
  fs::remove_all(folder);
  fs::create_directories(folder / "in");
  std::ofstream(folder / "in/tokenizer.model", std::ios::binary) << model_bytes();
  std::ofstream(folder / "in/tokenizer_config.json")
      << R"({"tokenizer_class":"LlamaTokenizer","legacy":false,"add_bos_token":true})";
  const Tokenizer t = must(load_tokenizer((folder / "in").string()));
  ASSERT_TRUE(save_tokenizer(t, (folder / "out").string()).ok());
  EXPECT_EQ(read(folder / "out/tokenizer.model"), model_bytes());
  const Tokenizer again = must(load_tokenizer((folder / "out").string()));
  const auto texts = golden()["texts"].get<std::vector<std::string>>();
  EXPECT_EQ(encode_all(again, texts), encode_all(t, texts));
  EXPECT_EQ(fnv_rows(encode_all(t, texts)),
            golden()["pipelines"]["first"]["ids"].get<std::string>());
  fs::remove_all(folder);
}

// Writing protobuf, for the bad files below.
std::string varint(uint64_t v) {
  std::string out;
  for (; v >= 0x80; v >>= 7) out += static_cast<char>(v | 0x80);
  return out + static_cast<char>(v);
}
std::string bytes_field(int number, const std::string& bytes) {
  return varint(static_cast<uint64_t>(number) << 3 | 2) + varint(bytes.size()) + bytes;
}
std::string number_field(int number, uint64_t value) {
  return varint(static_cast<uint64_t>(number) << 3) + varint(value);
}
std::string piece(const std::string& text, int type = 1) {
  return bytes_field(1, bytes_field(1, text) + number_field(3, static_cast<uint64_t>(type)));
}
const std::string kBpe = bytes_field(2, number_field(3, 2));

TEST(SentencePiece, ErrorsNamePlaceAndRemedy) {
  const auto error = [](const std::string& bytes) {
    auto parts = read_sentencepiece(bytes, "ckpt/tokenizer.model", {});
    return parts.ok() ? "no error" : parts.error().text();
  };
  const std::string unk = piece("<unk>", 2);
  EXPECT_EQ(error(unk + piece("a") + kBpe), "no error");
  const std::string word = bytes_field(2, number_field(3, 3));
  const std::string unigram = bytes_field(2, "");
  EXPECT_THAT(error(unk + piece("a")), HasSubstr("H2002  not a SentencePiece model: it ends"));
  EXPECT_EQ(error(unk + piece("a") + unigram), "no error");
  EXPECT_THAT(error(piece("a") + unigram),
              HasSubstr("H2005  the SentencePiece model has no unknown piece"));
  EXPECT_THAT(error(unk + piece("a") + word),
              HasSubstr("H2004  a SentencePiece model of the type WORD"));
  EXPECT_THAT(error(unk + piece("a") + word), HasSubstr("ckpt/tokenizer.model"));
  EXPECT_THAT(error(unk + bytes_field(2, number_field(3, 99))), HasSubstr("of the type 99"));
  EXPECT_THAT(error(unk + kBpe + bytes_field(3, bytes_field(1, "nmt_nfkc") + bytes_field(2, "x"))),
              HasSubstr("normalization \"nmt_nfkc\""));
  EXPECT_THAT(error(unk + bytes_field(2, number_field(3, 2) + number_field(24, 1))),
              HasSubstr("treat_whitespace_as_suffix"));
  EXPECT_THAT(error(kBpe), HasSubstr("H2002  not a SentencePiece model: it holds no pieces"));
  EXPECT_THAT(error(unk + piece("a") + piece("a") + kBpe),
              HasSubstr("piece 2 (\"a\") is there twice"));
  EXPECT_THAT(error(unk + piece("") + kBpe), HasSubstr("is empty"));
  EXPECT_THAT(error(unk + piece("\xff") + kBpe), HasSubstr("is not UTF-8"));
  EXPECT_THAT(error(unk + piece("a", 7) + kBpe), HasSubstr("is of an unknown type"));
  EXPECT_THAT(error(unk + piece(std::string(2000, 'a')) + kBpe),
              HasSubstr("H2005  token 1 is 2000"));
  EXPECT_THAT(error(unk + "\x0a\x7f"), HasSubstr("is 127 bytes long, 0 are left"));
  EXPECT_THAT(error("\x0a"), HasSubstr("a length is cut off or too long"));
  EXPECT_THAT(error(unk + std::string(12, '\xff')),
              HasSubstr("a field's tag is cut off or too long"));
  EXPECT_THAT(error(unk + std::string(1, '\0')), HasSubstr("has the number 0"));
  EXPECT_THAT(error(unk + "\x0b"), HasSubstr("unknown wire type 3"));
  EXPECT_THAT(error(number_field(1, 5)), HasSubstr("field 1 has the wrong type"));
  EXPECT_THAT(error(bytes_field(1, number_field(1, 5))), HasSubstr("field 1 has the wrong type"));
  for (size_t cut = 0; cut < model_bytes().size(); cut += 97)
    EXPECT_NE(error(model_bytes().substr(0, cut)), "no error") << cut;
}

TEST(RealSentencePiece, GivesTheIdsOfItsAuthors) {
  const fs::path data = data_folder();
  if (!fs::exists(data / "tok-llama2")) GTEST_SKIP() << "no tok-llama2 in HONE_DATA " << data;
  const json real = json::parse(read(goldens() / "real_sentencepiece.json"));
  const auto texts = golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(golden()["parts"], 5000, 7);
  for (const auto& [name, want] : real.items()) {
    SCOPED_TRACE(name);
    const Tokenizer t = must(load_tokenizer((data / name).string()));
    const EncodeOptions options = name.ends_with(".json") ? EncodeOptions{} : kPlain;
    const auto corpora = expect_golden_ids(t, want, texts, random, options);
    for (size_t i = 0; i < std::size(kCorpora); ++i) {
      if (options.split_special_tokens) {
        EXPECT_TRUE(t.decode(corpora[i], true) == read(data / kCorpora[i])) << kCorpora[i];
      }
    }
  }
}

TEST(RealSentencePiece, GivesTheIdsOfLlamaCpp) {
  const fs::path data = data_folder();
  if (!fs::exists(data / "tok-llama2")) GTEST_SKIP() << "no tok-llama2 in HONE_DATA " << data;
  const HardTexts hard = hard_texts("llama-spm");
  EXPECT_EQ(hard.texts.size(), 46u);
  for (const char* file : {"tok-llama2/tokenizer.model", "tok-llama2/tokenizer.json"}) {
    const Tokenizer t = must(load_tokenizer((data / file).string()));
    for (size_t i = 0; i < hard.texts.size(); ++i)
      EXPECT_EQ(t.encode(hard.texts[i], {.add_special_tokens = false}), hard.ids[i])
          << file << " " << hard.texts[i];
  }
}

}  // namespace
}  // namespace hone
