// Unigram against goldens of sentencepiece, tokenizers and Transformers: tools/golden_unigram.py.
#include "learn/tokenizers/stages/unigram.h"

#include <gmock/gmock.h>

#include <ctime>

#include "learn/tokenizers/load/sentencepiece_model.h"
#include "learn/tokenizers/load/test_helpers.h"
#include "learn/tokenizers/text/charsmap.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

const json& unigram_golden() {
  static const json g = json::parse(read(goldens() / "unigram.json"));
  return g;
}
Tokenizer from_golden_model(const std::string& name, const TokenizerConfig& config = {}) {
  const std::string bytes = read(goldens() / (name + ".model"));
  return must(Tokenizer::make(must(read_sentencepiece(bytes, name, config))));
}
std::string unigram_pipeline_json(const std::string& name, const json& pipeline) {
  const std::string bytes = read(goldens() / (name + ".model"));
  const SentencePieceModel model = must(parse_sentencepiece(bytes));
  json spec = pipeline["spec"];
  spec["model"] = pipeline["model"];
  for (const SentencePiece& p : model.pieces) {
    const bool scored = p.type != kUnknown && p.type != kControl && p.type != kByte;
    spec["model"]["vocab"].push_back({std::string(p.text), scored ? p.score : 0});
  }
  return spec.dump();
}
// One text of a megabyte, whose sums are large enough to round.
std::string long_text() {
  std::string text;
  for (const std::string& part : random_texts(unigram_golden()["parts"], 20000, 5))
    text += (text.empty() ? "" : " ") + part;
  return text;
}
std::string hash_of(const std::vector<int32_t>& ids) { return fnv_rows(std::span(&ids, 1)); }

TEST(Unigram, GivesTheIdsOfSentencePiece) {
  const auto texts = unigram_golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(unigram_golden()["parts"], 2000, 1);
  for (const auto& [name, want] : unigram_golden()["models"].items()) {
    const Tokenizer t = from_golden_model(name);
    for (int pass = 0; pass < 2; ++pass) {  // the second from the cache
      EXPECT_EQ(fnv_rows(encode_all(t, texts, kPlain)),
                want["sentencepiece"]["texts"].get<std::string>())
          << name;
      EXPECT_EQ(fnv_rows(encode_all(t, random, kPlain)),
                want["sentencepiece"]["random"].get<std::string>())
          << name;
      EXPECT_EQ(hash_of(t.encode(long_text(), kPlain)),
                want["sentencepiece"]["long"].get<std::string>())
          << name;
    }
  }
}

TEST(Unigram, EveryPipelineGivesTheIdsOfHuggingFace) {
  const auto texts = unigram_golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(unigram_golden()["parts"], 2000, 1);
  for (const auto& [name, model] : unigram_golden()["models"].items())
    for (const auto& [kind, want] : model["pipelines"].items()) {
      SCOPED_TRACE(name + " " + kind);
      const Tokenizer t = from_json(unigram_pipeline_json(name, want));
      const auto rows = expect_pipeline(t, want, texts, random);
      EXPECT_EQ(encode_all(from_json(tokenizer_json(t)), texts), rows);
      EXPECT_EQ(hash_of(t.encode(long_text())), want["long"].get<std::string>());
    }
}

TEST(Unigram, T5TokenizerSetsItsOwnStagesAndSentinels) {
  TokenizerConfig config;
  config.tokenizer_class = "T5Tokenizer";
  const Tokenizer t = from_golden_model("unigram", config);
  const auto ids = t.encode("the <extra_id_0> king <extra_id_99>");
  const auto n = static_cast<int32_t>(t.vocab_size());
  EXPECT_EQ(n, 800);
  EXPECT_EQ(t.id_of("<extra_id_0>"), 799);
  EXPECT_EQ(t.id_of("<extra_id_99>"), 700);
  EXPECT_EQ(ids.back(), *t.eos_id());
  EXPECT_EQ(std::count(ids.begin(), ids.end(), 799), 1);
  EXPECT_EQ(t.encode_pair("a", "b").type_ids,
            std::vector<int32_t>(t.encode_pair("a", "b").ids.size(), 0));
  // The stages are those of the pipeline "t5", from either file.
  const json& want = unigram_golden()["models"]["unigram"]["pipelines"];
  const EncodeOptions plain = {.add_special_tokens = false};
  std::vector<std::string> texts;
  for (const auto& text : unigram_golden()["texts"])
    if (text.get<std::string>().find("extra_id") == std::string::npos) texts.push_back(text);
  const auto rows =
      encode_all(from_json(unigram_pipeline_json("unigram", want["t5"])), texts, plain);
  EXPECT_EQ(encode_all(from_json(unigram_pipeline_json("unigram", want["whole"]), {}), texts, plain)
                .size(),
            rows.size());
  EXPECT_EQ(encode_all(from_json(unigram_pipeline_json("unigram", want["t5_file"]), config), texts,
                       plain),
            rows);
}

TEST(Unigram, ErrorsNamePlaceAndRemedy) {
  const auto error = [](const std::string& rest) {
    auto parts = read_tokenizer_json(R"({"model":{"type":"Unigram",)" + rest, "t", {});
    return parts.ok() ? "no error" : parts.error().text();
  };
  EXPECT_EQ(error(R"("unk_id":0,"vocab":[["a",-1]]}})"), "no error");
  EXPECT_THAT(error(R"("unk_id":1,"vocab":[["a",-1]]}})"),
              HasSubstr("H2005  the unknown token has the id 1, the vocabulary 1 tokens"));
  EXPECT_THAT(error(R"("vocab":[["a"]]}})"), HasSubstr("expected [token, score]"));
  EXPECT_THAT(error(R"("vocab":{}}})"), HasSubstr("H2002"));
  const auto map_error = [](const std::string& blob) {
    auto map = Charsmap::parse(blob);
    return map.ok() ? "no error" : map.error().text();
  };
  EXPECT_THAT(map_error("abc"), HasSubstr("H2002  the charsmap is damaged: it is 3 bytes long"));
  EXPECT_THAT(map_error(std::string("\x08\0\0\0abcdef", 10)),
              HasSubstr("its table is 8 bytes long, the file has 6"));
  EXPECT_THAT(map_error(std::string("\x04\0\0\0\xff\0\0\x80x\0", 10)),
              HasSubstr("a replacement is at 255"));
  EXPECT_THAT(map_error(std::string("\x04\0\0\0\0\0\0\0\xff\0", 10)), HasSubstr("are not UTF-8"));
  EXPECT_EQ(map_error(std::string("\x04\0\0\0\0\0\0\0x\0", 10)), "no error");
}

TEST(Unigram, LongTextsWithoutSpacesAreNoTrap) {
  const Tokenizer t = from_golden_model("unigram_bytes");
  std::string letters;
  for (int64_t i = 0; i < (1 << 20); ++i) letters += "etaoinsh"[i * i % 7919 % 8];
  const std::clock_t start = std::clock();
  EXPECT_EQ(t.decode(t.encode(letters, kPlain)), letters);
  EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 20);
}

TEST(RealUnigram, GivesTheIdsOfItsAuthors) {
  const fs::path data = data_folder();
  if (!fs::exists(data / "tok-t5")) GTEST_SKIP() << "no tok-t5 in HONE_DATA " << data;
  const json real = json::parse(read(goldens() / "real_unigram.json"));
  const auto texts = unigram_golden()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(unigram_golden()["parts"], 5000, 7);
  std::vector<std::string> lines;
  std::ifstream in(data / "wikitext2/test.txt");
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  for (const auto& [name, want] : real.items()) {
    SCOPED_TRACE(name);
    const bool plain = name.ends_with(".model") || name.ends_with(".spm");
    const EncodeOptions options = plain ? kPlain : EncodeOptions{};
    const Tokenizer t = must(load_tokenizer((data / name).string()));
    EXPECT_EQ(fnv_rows(encode_all(t, texts, options)), want["texts"].get<std::string>());
    EXPECT_EQ(fnv_rows(encode_all(t, random, options)), want["random"].get<std::string>());
    EXPECT_EQ(fnv_rows(encode_all(t, lines, options)), want["lines"].get<std::string>());
    EXPECT_EQ(hash_of(t.encode(read(data / "wikitext2/test.txt"), options)),
              want["long"].get<std::string>());
  }
}

}  // namespace
}  // namespace hone
