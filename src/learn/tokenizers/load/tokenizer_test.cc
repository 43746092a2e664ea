// Ids against goldens of Hugging Face tokenizers and tiktoken: see tools/golden_tokenizers.py.
#include "learn/tokenizers/tokenizer.h"

#include <ctime>

#include "learn/tokenizers/load/test_helpers.h"

namespace hone {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// The tokenizer.json of a pipeline of cases.json around the vocabulary of mini.json.
std::string mini_json(const json& pipeline) {
  static const json mini = json::parse(read(goldens() / "mini.json"));
  json spec = pipeline["spec"];
  spec["model"] = pipeline["model"];
  json vocab = json::object();
  for (size_t i = 0; i < mini["tokens"].size(); ++i)
    vocab[mini["tokens"][i].get<std::string>()] = i;
  spec["model"]["vocab"] = std::move(vocab);
  spec["model"]["merges"] = mini["merges"];
  return spec.dump();
}

const json& cases() {
  static const json c = json::parse(read(goldens() / "cases.json"));
  return c;
}
Tokenizer mini(const std::string& name) {
  return must(
      Tokenizer::make(must(read_tokenizer_json(mini_json(cases()["pipelines"][name]), name))));
}

TEST(Tokenizer, EveryPipelineGivesTheIdsOfHuggingFace) {
  const auto texts = cases()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(cases()["parts"], 2000, 1);
  for (const auto& [name, want] : cases()["pipelines"].items()) {
    SCOPED_TRACE(name);
    const Tokenizer t = mini(name);
    EXPECT_EQ(t.vocab_size(), want["size"]);
    const auto rows = encode_all(t, texts);
    for (size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(rows[i], want["ids"][i].get<std::vector<int32_t>>()) << json(texts[i]).dump();
    EXPECT_EQ(fnv_rows(encode_all(t, texts, {.add_special_tokens = false})),
              want["plain"].get<std::string>());
    EXPECT_EQ(fnv_rows(encode_all(t, texts, {.split_special_tokens = true})),
              want["split"].get<std::string>());
    EXPECT_EQ(fnv_rows(encode_all(t, random)), want["random"].get<std::string>());
    expect_decoded(t, rows, want);
    const Encoding pair = t.encode_pair("Hello", " world");
    EXPECT_EQ(pair.ids, want["pair"].get<std::vector<int32_t>>());
    EXPECT_EQ(pair.type_ids, want["pair_types"].get<std::vector<int32_t>>());
    EXPECT_EQ(t.special_token_count(false), static_cast<int64_t>(t.encode("").size()));
  }
}

TEST(Tokenizer, WrittenTokenizerJsonGivesTheSameIds) {
  const auto texts = cases()["texts"].get<std::vector<std::string>>();
  for (const auto& [name, want] : cases()["pipelines"].items()) {
    SCOPED_TRACE(name);
    const std::string written = tokenizer_json(mini(name));
    const Tokenizer again = must(Tokenizer::make(must(read_tokenizer_json(written, "written"))));
    const auto rows = encode_all(again, texts);
    for (size_t i = 0; i < texts.size(); ++i)
      EXPECT_EQ(rows[i], want["ids"][i].get<std::vector<int32_t>>());
  }
}

TEST(Tokenizer, BytesThatAreNoUtf8ComeBack) {
  std::string all;
  for (int b = 255; b >= 0; --b) all += static_cast<char>(b);
  for (const std::string& text :
       {all, std::string("a\xff b\xc3 c\xe2\x82"), std::string("\xf0\x9f\x98"),
        std::string("\xed\xa0\x80\xc0\xaf 12\x80")})
    for (const char* name : {"gpt2", "llama3", "qwen2", "smollm", "o200k"}) {
      const Tokenizer t = mini(name);
      EXPECT_EQ(t.decode_bytes(t.encode(text, {.add_special_tokens = false})), text) << name;
    }
  EXPECT_EQ(mini("gpt2").decode(mini("gpt2").encode("a\xe2\x82")), "a\xEF\xBF\xBD");
}

TEST(Tokenizer, StreamsWholeCharacters) {
  const Tokenizer t = mini("gpt2");
  const std::string text = "é 中文 😀 <|endoftext|>end";
  StreamingDecoder stream(t, /*skip_special_tokens=*/false);
  std::string out;
  for (const int32_t id : t.encode(text)) {
    const std::string part = stream.push(id);
    EXPECT_EQ(part.find("\xEF\xBF\xBD"), part.npos);
    out += part;
  }
  EXPECT_EQ(out + stream.finish(), text);
  const auto cut = t.encode("😀");
  ASSERT_EQ(cut.size(), 4u);
  StreamingDecoder half(t);
  EXPECT_EQ(half.push(cut[0]), "");
  EXPECT_EQ(half.push(cut[1]), "");
  EXPECT_EQ(half.finish(), "\xEF\xBF\xBD");
}

TEST(Tokenizer, BatchesAreRowsInOrder) {
  const Tokenizer t = mini("roberta");
  const auto texts = random_texts(cases()["parts"], 500, 3);
  const std::vector<std::string_view> views(texts.begin(), texts.end());
  ThreadPool pool(3);
  EXPECT_EQ(t.encode_batch(views, &pool), encode_all(t, texts));
  EXPECT_EQ(t.encode_batch(views, nullptr), encode_all(t, texts));
  EXPECT_TRUE(t.encode_batch({}, &pool).empty());
}

TEST(Tokenizer, NamesTokens) {
  const Tokenizer t = mini("roberta");
  const int32_t mask = *t.id_of("<mask>");
  EXPECT_EQ(t.token_of(mask), "<mask>");
  EXPECT_TRUE(t.is_special(mask));
  EXPECT_EQ(t.id_limit(), t.vocab_size());
  EXPECT_EQ(t.id_of("no such token"), std::nullopt);
  EXPECT_EQ(t.token_of(-1), std::nullopt);
  EXPECT_EQ(t.token_of(1 << 20), std::nullopt);
  EXPECT_EQ(t.decode(std::vector<int32_t>{-5, 1 << 20}), "");
  EXPECT_EQ(t.token_of(t.encode(" the")[1]), "Ġthe");
}

// A long piece without any place to split takes n log n steps, not n squared.
TEST(Tokenizer, AMegabyteWithoutSpacesIsNoTrap) {
  const Tokenizer t = mini("gpt2");
  std::string letters;
  for (int64_t i = 0; i < (1 << 20); ++i) letters += static_cast<char>('a' + i * i % 7919 % 26);
  for (const std::string& text : {letters, std::string(1 << 20, 'e')}) {
    const std::clock_t start = std::clock();
    EXPECT_TRUE(t.decode(t.encode(text)) == text);
    EXPECT_LT((std::clock() - start) / CLOCKS_PER_SEC, 20);
  }
}

TEST(Tokenizer, HeapAndScanMergeAlike) {
  const Tokenizer t = mini("inverted");  // pieces of letters only
  uint64_t state = 5;
  for (int n = 40; n < 60; ++n) {  // around the length where the heap takes over
    std::string word;
    for (int i = 0; i < n; ++i) {
      state = state * 6364136223846793005u + 1;
      word += "etaoinsh"[state >> 61];
    }
    EXPECT_EQ(t.decode(t.encode(word)), " " + word);
  }
}

TEST(RealTokenizers, GiveTheIdsOfTheirAuthors) {
  const fs::path data = data_folder();
  if (!fs::exists(data / "tok-gpt2")) GTEST_SKIP() << "no tokenizers in HONE_DATA " << data;
  const json real = json::parse(read(goldens() / "real.json"));
  const auto texts = cases()["texts"].get<std::vector<std::string>>();
  const auto random = random_texts(cases()["parts"], 5000, 7);
  for (const auto& [name, want] : real.items()) {
    SCOPED_TRACE(name);
    const Tokenizer t = must(load_tokenizer((data / name).string()));
    const auto corpora = expect_golden_ids(t, want, texts, random);
    for (size_t i = 0; i < std::size(kCorpora); ++i) {
      const std::vector<int32_t>& ids = corpora[i];
      if (ids.size() < 1000000 && name != "tok-roberta" && name.find("tiny_bpe") == name.npos) {
        EXPECT_TRUE(t.decode(ids) == read(data / kCorpora[i])) << kCorpora[i];
      }
    }
  }
}

TEST(RealTokenizers, GiveTheIdsOfLlamaCpp) {
  const fs::path data = data_folder();
  if (!fs::exists(data / "tok-gguf")) GTEST_SKIP() << "no tok-gguf in HONE_DATA " << data;
  for (const auto& [tokenizer, out] :
       {std::pair{"tok-gpt2", "gpt-2"}, {"tok-llama3", "llama-bpe"}, {"tok-qwen", "qwen2"}}) {
    const Tokenizer t = must(load_tokenizer((data / tokenizer).string()));
    const HardTexts hard = hard_texts(out);
    EXPECT_EQ(hard.texts.size(), 46u);
    for (size_t i = 0; i < hard.texts.size(); ++i)
      EXPECT_EQ(t.encode(hard.texts[i], {.add_special_tokens = false}), hard.ids[i])
          << out << " " << hard.texts[i];
  }
}

// The vocabularies of encoders through a GGUF file and back.
TEST(RealTokenizers, GiveTheSameIdsFromGguf) {
  const fs::path data = data_folder();
  for (const auto& [name, model] :
       {std::pair{"tok-bert-uncased", "bert"}, {"tok-bert-cased", "bert"}, {"tok-t5", "t5"}}) {
    if (!fs::exists(data / name)) GTEST_SKIP() << "no " << name << " in HONE_DATA " << data;
    SCOPED_TRACE(name);
    const Tokenizer t = must(load_tokenizer((data / name).string()));
    const GgufVocab v = must(gguf_vocab(t, t.id_limit(), true));
    EXPECT_EQ(v.model, model);
    const Tokenizer back = must(load_gguf_tokenizer(v));
    for (const std::string& text : hard_texts("gpt-2").texts)
      EXPECT_EQ(back.encode(text), t.encode(text)) << text;
  }
}

}  // namespace
}  // namespace hone
