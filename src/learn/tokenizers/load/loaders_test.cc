// The loaders on good and broken files, and the files of save_tokenizer.
#include "learn/tokenizers/load/loaders.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/core/json.h"
#include "base/unicode/unicode.h"

namespace hone {
namespace {

using nlohmann::json;
using ::testing::AllOf;
using ::testing::HasSubstr;
namespace fs = std::filesystem;

class Loaders : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) /
              ::testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    fs::create_directories(folder_);
    std::ifstream in(fs::path(HONE_SOURCE_DIR) / "tests/goldens/tokenizers/mini.json");
    const json mini = json::parse(in);
    tokens_ = mini["tokens"].get<std::vector<std::string>>();
    merges_ = mini["merges"].get<std::vector<std::string>>();
  }
  void TearDown() override { fs::remove_all(folder_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }
  void write_vocab_merges(std::vector<std::string> more = {}) {
    json vocab = json::object();
    for (const auto& t : tokens_) vocab[t] = vocab.size();
    for (const auto& t : more) vocab[t] = vocab.size();
    write("vocab.json", vocab.dump());
    write("merges.txt", fmt::format("#version: 0.2\n{}\n", fmt::join(merges_, "\n")));
  }
  Tokenizer load() {
    auto t = load_tokenizer(folder_.string());
    if (!t.ok()) throw std::runtime_error(t.error().text());
    return *t;
  }
  std::string error(const std::string& name = "") {
    auto t = load_tokenizer((folder_ / name).string());
    return t.ok() ? "no error" : t.error().text();
  }
  GgufVocab gguf() const {
    GgufVocab v;
    v.model = "gpt2";
    v.pre = "smollm";
    v.tokens = tokens_;
    v.merges = merges_;
    v.chat_template = "{{ x }}";
    v.types.assign(tokens_.size(), 1);
    v.tokens.push_back("<|im_start|>");
    v.types.push_back(3);
    v.tokens.push_back("word");
    v.types.push_back(4);
    v.bos = static_cast<int64_t>(tokens_.size());
    v.eos = v.bos;
    return v;
  }

  fs::path folder_;
  std::vector<std::string> tokens_, merges_;
};

TEST_F(Loaders, VocabAndMergesOfGpt2) {
  write_vocab_merges({"<|endoftext|>"});
  write(
      "tokenizer_config.json",
      R"({"tokenizer_class":"GPT2TokenizerFast","model_max_length":1024,"add_prefix_space":true})");
  const Tokenizer t = load();
  const auto n = static_cast<int32_t>(tokens_.size());
  EXPECT_EQ(t.eos_id(), n);
  EXPECT_EQ(t.bos_id(), n);
  EXPECT_EQ(t.pad_id(), std::nullopt);
  EXPECT_EQ(t.model_max_length(), 1024);
  EXPECT_EQ(t.encode("the<|endoftext|>"), (std::vector{*t.id_of("Ġthe"), n}));
}

TEST_F(Loaders, TheModelTypeTellsTheClass) {
  write_vocab_merges({"<|endoftext|>"});
  write("config.json", R"({"model_type":"qwen2"})");
  const Tokenizer t = load();
  EXPECT_EQ(t.bos_id(), std::nullopt);
  EXPECT_EQ(t.pad_id(), static_cast<int32_t>(tokens_.size()));
  EXPECT_EQ(t.encode("e\xCC\x81"), t.encode("\xC3\xA9"));  // NFC
}

TEST_F(Loaders, VocabAndMergesOfRobertaAreKnownByTheirTokens) {
  write_vocab_merges({"<s>", "<pad>", "</s>", "<unk>", "<mask>"});
  const Tokenizer t = load();
  const auto n = static_cast<int32_t>(tokens_.size());
  EXPECT_EQ(t.encode(" the").front(), n);
  EXPECT_EQ(t.encode(" the").back(), n + 2);
  EXPECT_EQ(t.encode_pair("", "").ids, (std::vector{n, n + 2, n + 2, n + 2}));
  EXPECT_EQ(t.pad_id(), n + 1);
  EXPECT_EQ(t.mask_id(), n + 4);
}

TEST_F(Loaders, ConfigurationAddsTokensAndBos) {
  write_vocab_merges({"<|endoftext|>"});
  write("tokenizer_config.json", R"({"tokenizer_class":"GPT2Tokenizer","add_bos_token":true,
      "model_max_length":1000000000000000019884624838656,
      "pad_token":{"__type":"AddedToken","content":"<pad>","lstrip":true},
      "additional_special_tokens":["<x>"],
      "added_tokens_decoder":{"900":{"content":"<b>","special":true},"800":{"content":"<a>"}}})");
  const Tokenizer t = load();
  const auto n = static_cast<int32_t>(tokens_.size());
  EXPECT_EQ(t.id_of("<a>"), n + 1);
  EXPECT_EQ(t.id_of("<b>"), n + 2);
  EXPECT_EQ(t.pad_id(), n + 3);
  EXPECT_EQ(t.id_of("<x>"), n + 4);
  EXPECT_EQ(t.model_max_length(), std::nullopt);
  EXPECT_EQ(t.encode(" the  <pad>"), (std::vector{n, *t.id_of("Ġthe"), n + 3}));
  EXPECT_FALSE(t.is_special(n + 1));
  EXPECT_TRUE(t.is_special(n + 4));
}

TEST_F(Loaders, ConfigurationBesideTokenizerJson) {
  write_vocab_merges({"<|endoftext|>"});
  ASSERT_TRUE(save_tokenizer(load(), (folder_ / "out").string()).ok());
  fs::copy_file(folder_ / "out/tokenizer.json", folder_ / "tokenizer.json");
  const auto n = static_cast<int32_t>(tokens_.size());
  // add_bos_token does not count beside a tokenizer.json; add_prefix_space does for this class.
  write("tokenizer_config.json", R"({"tokenizer_class":"GPT2Tokenizer","add_bos_token":true,
      "add_prefix_space":true,"pad_token":"<p>","image_token":"<i>"})");
  write("special_tokens_map.json", R"({"pad_token":{"content":"<|pad|>","rstrip":true}})");
  write("added_tokens.json", R"({"<zz>":50260})");
  const Tokenizer t = load();
  EXPECT_EQ(t.encode("the"), (std::vector{*t.id_of("Ġthe")}));
  EXPECT_EQ(t.eos_id(), n);
  EXPECT_EQ(t.id_of("<zz>"), n + 1);
  EXPECT_EQ(t.pad_id(), n + 2);
  EXPECT_EQ(t.token_of(n + 2), "<|pad|>");
  EXPECT_EQ(t.id_of("<i>"), n + 3);
  EXPECT_EQ(t.encode("<|pad|>  <zz>"), (std::vector{n + 2, n + 1}));
  // With added_tokens_decoder the files of older versions do not count.
  write("tokenizer_config.json", R"({"added_tokens_decoder":{},"pad_token":"<p>"})");
  EXPECT_EQ(load().id_of("<zz>"), std::nullopt);
  EXPECT_EQ(load().token_of(*load().pad_id()), "<p>");
}

TEST_F(Loaders, ChatTemplatesAreThoseThatTransformersTakes) {
  write_vocab_merges();
  write("chat_template.json", R"({"chat_template": "processor"})");
  EXPECT_EQ(load().chat_template(), "processor");
  write("tokenizer_config.json", R"({"chat_template": "one"})");
  EXPECT_EQ(load().chat_template(), "one");
  write("tokenizer_config.json", R"({"chat_template": [
      {"name": "tool_use", "template": "tools"}, {"name": "default", "template": "first"}, {"name": "rag", "template": "x"}]})");
  EXPECT_EQ(load().chat_template(), "first");
  EXPECT_EQ(load().parts().tool_chat_template, "tools");
  write("chat_template.jinja", "file");
  EXPECT_EQ(load().chat_template(), "file");
  EXPECT_EQ(load().parts().tool_chat_template, "");
  write("tokenizer_config.json", R"({"chat_template": [{"template": "x"}]})");
  EXPECT_NE(error().find("name"), std::string::npos);
}

TEST_F(Loaders, GgufIsWrittenAsTokenizerJson) {
  auto from_gguf = load_gguf_tokenizer(gguf());
  ASSERT_TRUE(from_gguf.ok()) << from_gguf.error().text();
  EXPECT_EQ(from_gguf->chat_template(), "{{ x }}");
  ASSERT_TRUE(save_tokenizer(*from_gguf, (folder_ / "out").string()).ok());
  auto again = load_tokenizer((folder_ / "out").string());
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->vocab_size(), from_gguf->vocab_size());
  EXPECT_EQ(again->eos_id(), from_gguf->eos_id());
  EXPECT_EQ(again->chat_template(), "{{ x }}");
  for (const char* text : {"the 2024 words", "<|im_start|>user", "é中😀", "x<|im_start|> "})
    EXPECT_EQ(again->encode(text), from_gguf->encode(text)) << text;
  const auto digits = from_gguf->encode("12");
  EXPECT_EQ(digits.size(), 2u);
  EXPECT_TRUE(from_gguf->is_special(static_cast<int32_t>(tokens_.size())));
  EXPECT_FALSE(from_gguf->is_special(static_cast<int32_t>(tokens_.size()) + 1));
}

TEST_F(Loaders, GgufBos) {
  GgufVocab v = gguf();
  v.pre = "llama-bpe";
  EXPECT_EQ(load_gguf_tokenizer(v)->encode("").size(), 1u);
  v.add_bos = false;
  EXPECT_EQ(load_gguf_tokenizer(v)->encode("").size(), 0u);
  v.pre = "lama-bpe";
  EXPECT_THAT(load_gguf_tokenizer(v).error().text(), HasSubstr("did you mean llama-bpe?"));
  v.model = "rwkv";
  EXPECT_STREQ(load_gguf_tokenizer(v).error().code(), "H2004");
  v = gguf();
  v.merges.push_back("zzz qqq");
  EXPECT_STREQ(load_gguf_tokenizer(v).error().code(), "H2005");
}

TEST_F(Loaders, GgufOfSentencePiece) {
  GgufVocab v;
  v.model = "llama";
  v.tokens = {"<unk>", "<s>", "</s>", "<0x0A>", "\u2581", "a", "b", "\u2581a", "ab", "\u2581ab"};
  v.types = {2, 3, 3, 6, 1, 1, 1, 1, 1, 1};
  v.scores = {0, 0, 0, 0, -9, -8, -7, -3, -2, -1};
  v.bos = 1;
  v.eos = 2;
  v.unk = 0;
  auto t = load_gguf_tokenizer(v);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->encode("ab\nc a"), (std::vector<int32_t>{1, 9, 3, 0, 7}));
  EXPECT_EQ(t->decode(std::vector<int32_t>{1, 9, 3, 6}, true), "ab\nb");
  v.add_bos = false;
  v.add_space_prefix = false;
  EXPECT_EQ(load_gguf_tokenizer(v)->encode("ab"), (std::vector<int32_t>{8}));
  v.scores.pop_back();
  EXPECT_THAT(load_gguf_tokenizer(v).error().text(), HasSubstr("9 scores for 10 tokens"));
}

// Tokens that begin a word have a mark, others none, as llama.cpp writes them.
TEST_F(Loaders, GgufOfWordPiece) {
  GgufVocab v;
  v.model = "bert";
  v.tokens = {"[PAD]",     "[UNK]",    "[CLS]", "[SEP]", "[MASK]",
              "\u2581the", "\u2581th", "e",     "y",     "\u2581,"};
  v.types = {3, 3, 3, 3, 3, 1, 1, 1, 1, 1};
  v.cls = v.bos = 2;
  v.sep = v.eos = 3;
  v.pad = 0;
  v.unk = 1;
  v.mask = 4;
  const auto t = load_gguf_tokenizer(v);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->encode("The, they x"), (std::vector<int32_t>{2, 5, 9, 5, 8, 1, 3}));
  EXPECT_EQ(t->token_of(7), "##e");
  const Encoding pair = t->encode_pair("the", "th\xc3\xa9");
  EXPECT_EQ(pair.ids, (std::vector<int32_t>{2, 5, 3, 5, 3}));
  EXPECT_EQ(pair.type_ids, (std::vector<int32_t>{0, 0, 0, 1, 1}));
  v.lowercase = false;
  EXPECT_EQ(load_gguf_tokenizer(v)->encode("The the"), (std::vector<int32_t>{2, 1, 5, 3}));

  const auto again = gguf_vocab(*load_gguf_tokenizer(v), 12, true);
  ASSERT_TRUE(again.ok()) << again.error().text();
  v.tokens.insert(v.tokens.end(), {"\u2581[PAD10]", "\u2581[PAD11]"});
  v.types.insert(v.types.end(), {5, 5});
  EXPECT_EQ(again->tokens, v.tokens);
  EXPECT_EQ(again->types, v.types);
  EXPECT_EQ(again->lowercase, false);
  EXPECT_EQ(again->strip_accents, false);
  EXPECT_EQ(again->add_sep, false);
  EXPECT_EQ(again->bos, 2);
  EXPECT_EQ(again->sep, 3);
  EXPECT_EQ(again->mask, 4);
  // Models that write text have no such vocabularies.
  EXPECT_STREQ(gguf_vocab(*t, 10).error().code(), "H2004");
}

TEST_F(Loaders, GgufOfWordPieceWithOtherNormalizersIsRefused) {
  write("vocab.txt", "[PAD]\n[UNK]\n[CLS]\n[SEP]\n[MASK]\nthe\n##s\n");
  write("tokenizer_config.json",
        R"({"tokenizer_class":"BertTokenizer","tokenize_chinese_chars":false})");
  EXPECT_THAT(gguf_vocab(load(), 7, true).error().text(),
              HasSubstr("handle_chinese_chars is false"));
  write("tokenizer_config.json", R"({"tokenizer_class":"BertTokenizer","do_lower_case":false})");
  const auto cased = gguf_vocab(load(), 7, true);
  ASSERT_TRUE(cased.ok()) << cased.error().text();
  EXPECT_EQ(cased->tokens[6], "s");
  EXPECT_EQ(cased->lowercase, false);
}

TEST_F(Loaders, GgufOfRoberta) {
  write_vocab_merges({"<s>", "<pad>", "</s>", "<unk>", "<mask>"});
  write("tokenizer_config.json", R"({"tokenizer_class":"RobertaTokenizer"})");
  const Tokenizer t = load();
  const auto v = gguf_vocab(t, t.id_limit(), true);
  ASSERT_TRUE(v.ok()) << v.error().text();
  EXPECT_EQ(v->pre, "roberta-bpe");
  EXPECT_EQ(v->add_sep, true);
  EXPECT_EQ(v->cls, t.bos_id());
  const auto back = load_gguf_tokenizer(*v);
  ASSERT_TRUE(back.ok()) << back.error().text();
  EXPECT_EQ(back->encode("the <mask> 12"), t.encode("the <mask> 12"));
  EXPECT_EQ(back->encode_pair("the", "end").ids, t.encode_pair("the", "end").ids);
}

// SentencePiece's BPE with its merges: the pairs of a text are joined in their order.
TEST_F(Loaders, GgufOfRankedBpe) {
  GgufVocab v;
  v.model = v.pre = "gemma4";
  v.tokens = {"<pad>", "<eos>", "<bos>", "<unk>", "<0xC3>", "<0xA9>",  "\u2581",
              "t",     "h",     "e",     "th",    "he",     "\u2581th"};
  v.types = {3, 3, 3, 2, 6, 6, 1, 1, 1, 1, 1, 1, 1};
  v.merges = {"t h", "h e", "\u2581 th"};
  v.pad = 0;
  v.eos = 1;
  v.bos = 2;
  v.unk = 3;
  const auto t = load_gguf_tokenizer(v);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->encode("the th \xc3\xa9q"), (std::vector<int32_t>{2, 10, 9, 12, 6, 4, 5, 3}));
  const auto again = gguf_vocab(*t, 14, false, kRankedBpe);
  ASSERT_TRUE(again.ok()) << again.error().text();
  v.tokens.emplace_back("[PAD13]");
  v.types.push_back(5);
  EXPECT_EQ(again->model, "gemma4");
  EXPECT_EQ(again->tokens, v.tokens);
  EXPECT_EQ(again->types, v.types);
  EXPECT_EQ(again->merges, v.merges);
  EXPECT_EQ(again->add_bos, true);
  EXPECT_TRUE(again->scores.empty());
}

TEST_F(Loaders, GgufOfUnigram) {
  GgufVocab v;
  v.model = "t5";
  v.tokens = {"<s>", "<pad>", "</s>", "<unk>", "\u2581", "\u2581the", "s", "a", "<mask>"};
  v.types = {3, 3, 3, 2, 1, 1, 1, 1, 3};
  v.scores = {0, 0, 0, 0, -2, -1.5f, -2.25f, -3, 0};
  v.cls = v.bos = 0;
  v.sep = v.eos = 2;
  v.pad = 1;
  v.unk = 3;
  v.mask = 8;
  v.add_bos = v.add_eos = v.add_sep = true;
  const auto t = load_gguf_tokenizer(v);
  ASSERT_TRUE(t.ok()) << t.error().text();
  EXPECT_EQ(t->encode("thes  a Q <mask>"), (std::vector<int32_t>{0, 5, 6, 4, 7, 4, 3, 8, 2}));
  EXPECT_EQ(t->encode_pair("a", "s").ids, (std::vector<int32_t>{0, 4, 7, 2, 2, 4, 6, 2}));
  const auto again = gguf_vocab(*t, 9, true);
  ASSERT_TRUE(again.ok()) << again.error().text();
  EXPECT_EQ(again->tokens, v.tokens);
  EXPECT_EQ(again->types, v.types);
  EXPECT_EQ(again->scores, v.scores);
  EXPECT_EQ(again->add_sep, true);
  v.scores.pop_back();
  EXPECT_THAT(load_gguf_tokenizer(v).error().text(), HasSubstr("8 scores for 9 tokens"));
  v.scores.push_back(0);
  v.unk = 9;
  EXPECT_THAT(load_gguf_tokenizer(v).error().text(), HasSubstr("needs an unknown token"));
}

TEST_F(Loaders, SavingCopiesTheSources) {
  write_vocab_merges({"<|endoftext|>"});
  write("tokenizer_config.json", R"({"tokenizer_class":"GPT2Tokenizer"})");
  const Tokenizer t = load();
  ASSERT_TRUE(save_tokenizer(t, (folder_ / "out").string()).ok());
  for (const char* name : {"vocab.json", "merges.txt", "tokenizer_config.json", "tokenizer.json",
                           "special_tokens_map.json"})
    EXPECT_TRUE(fs::exists(folder_ / "out" / name)) << name;
  ASSERT_TRUE(save_tokenizer(t, folder_.string()).ok());  // onto itself
  EXPECT_EQ(load().encode("the end"), t.encode("the end"));
  EXPECT_STREQ(save_tokenizer(t, "/proc/nothing").error().code(), "H2007");
}

TEST_F(Loaders, TiktokenRanks) {
  // a, b, c, ab, abc: "abc" is a token, "ab" merges first in "abb".
  write("x.tiktoken", "YQ== 0\nYg== 1\nYw== 2\nYWI= 3\nYWJj 4\nIA== 5\n");
  const Tokenizer t = load();
  EXPECT_EQ(t.encode("abc abb"), (std::vector<int32_t>{4, 5, 3, 1}));
  EXPECT_EQ(t.kind(), "tiktoken ranks");
  write("x.tiktoken", "YQ== 0\nYg 1\n!!! 2\n");
  EXPECT_THAT(error(), HasSubstr("x.tiktoken:3"));
}

TEST_F(Loaders, ErrorsNamePlaceAndRemedy) {
  EXPECT_THAT(error(), HasSubstr("H2001"));
  EXPECT_THAT(error(), HasSubstr("(empty)"));
  EXPECT_THAT(error(), HasSubstr("hone reads tokenizer.json"));
  EXPECT_THAT(error("nowhere"), HasSubstr("neither a folder nor a file"));
  write("vocab.txt", "[PAD]\n");
  EXPECT_THAT(error(), HasSubstr("vocab.txt"));
  EXPECT_THAT(error(), HasSubstr("the unknown token \"[UNK]\" is not in the vocabulary"));
  write("tokenizer.model", std::string("\x0a\x0e\x0a\x05<unk>", 9));
  EXPECT_THAT(error(), HasSubstr("H2002  not a SentencePiece model"));
  EXPECT_THAT(error(), HasSubstr("tokenizer.model"));
  write("tokenizer.model", "<html>not found</html>");
  EXPECT_THAT(error(), HasSubstr("tokenizer.model:1"));

  const auto json_error = [&](const std::string& text) {
    write("tokenizer.json", text);
    return error();
  };
  EXPECT_THAT(json_error("{\n  \"model\": {,}\n}"), HasSubstr("tokenizer.json:2:13"));
  EXPECT_THAT(json_error("{}"), HasSubstr("the key \"model\" is missing"));
  EXPECT_THAT(json_error("[]"), HasSubstr("H2002  expected an object"));
  EXPECT_THAT(json_error(R"({"model":{"type":"WordLevel"}})"),
              HasSubstr("unknown model \"WordLevel\""));
  EXPECT_THAT(json_error(R"({"model":{"type":"BPE","end_of_word_suffix":"</w>"}})"),
              HasSubstr("H2004  BPE with a end_of_word_suffix"));
  EXPECT_THAT(json_error(R"({"decoder":{"type":"Sequence","decoders":[{"type":"Fuse"},
                             {"type":"ByteFallback"}]}})"),
              HasSubstr("the decoder \"ByteFallback\" after \"Fuse\""));
  EXPECT_THAT(json_error(R"({"pre_tokenizer":{"type":"Metaspace","prepend_scheme":"sometimes"}})"),
              HasSubstr("the schemes are always, first and never"));
  EXPECT_THAT(
      json_error(R"({"pre_tokenizer":{"type":"ByteLevl"}})"),
      AllOf(HasSubstr("H2003  unknown pre_tokenizer"), HasSubstr("did you mean ByteLevel?")));
  EXPECT_THAT(
      json_error(
          R"({"pre_tokenizer":{"type":"Split","behavior":"Isolated","pattern":{"Regex":"("}}})"),
      HasSubstr("H2006"));
  const std::string bpe = R"({"pre_tokenizer":{"type":"ByteLevel"},"model":{"type":"BPE",)";
  EXPECT_THAT(json_error(bpe + R"("vocab":{"a":0},"merges":["a b"]}})"),
              HasSubstr("needs the token \"b\""));
  EXPECT_THAT(json_error(bpe + R"("vocab":{"a":0},"merges":["a b"]}})"),
              HasSubstr("model.merges[0]"));
  EXPECT_THAT(json_error(bpe + R"("vocab":{"a":0},"merges":["ab"]}})"),
              HasSubstr("one space between"));
  EXPECT_THAT(json_error(bpe + R"("vocab":{"a":-1},"merges":[]}})"), HasSubstr("H2005"));
  EXPECT_THAT(json_error(bpe + R"("dropout":0.1,"vocab":{},"merges":[]}})"), HasSubstr("dropout"));
  EXPECT_THAT(json_error(bpe + R"("unk_token":"u","vocab":{},"merges":[]}})"),
              HasSubstr("unknown token \"u\""));

  fs::remove(folder_ / "tokenizer.json");
  write("vocab.json", R"({"a":0,"b":1,"ab":2})");
  write("merges.txt", "#version: 0.2\na b\na  b\n");
  EXPECT_THAT(error(), HasSubstr("merges.txt:3"));
}

TEST_F(Loaders, ModelsWhoseIdsComeFromElsewhereAreRefused) {
  write("sentencepiece.bpe.model", "a model");
  EXPECT_THAT(error(), HasSubstr("H2004  a SentencePiece model whose ids"));
  EXPECT_THAT(error(), HasSubstr("sentencepiece.bpe.model"));
  fs::remove(folder_ / "sentencepiece.bpe.model");
  write("source.spm", "a model");
  EXPECT_THAT(error(), HasSubstr("H2001  no tokenizer files here"));
}

TEST_F(Loaders, UnknownBytesDropOrBecomeUnk) {
  const std::string head =
      R"({"pre_tokenizer":{"type":"ByteLevel","add_prefix_space":false},"model":{"type":"BPE",)"
      R"("vocab":{"a":0,"u":1},"merges":[])";
  write("tokenizer.json", head + "}}");
  EXPECT_EQ(load().encode("xxa"), (std::vector<int32_t>{0}));
  write("tokenizer.json", head + R"(,"unk_token":"u"}})");
  EXPECT_EQ(load().encode("xxa"), (std::vector<int32_t>{1, 1, 0}));
  write("tokenizer.json", head + R"(,"unk_token":"u","fuse_unk":true}})");
  EXPECT_EQ(load().encode("xxa"), (std::vector<int32_t>{1, 0}));
}

TEST(Unicode, LossyTextReplacesMaximalParts) {
  EXPECT_EQ(lossy_utf8("a\xf0\x9f\x98z"), "a\xEF\xBF\xBDz");
  EXPECT_EQ(lossy_utf8("\xc0\xaf"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(lossy_utf8("\xed\xa0\x80"), "\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD");
  EXPECT_EQ(incomplete_tail("a\xe4\xb8"), 2);
  EXPECT_EQ(incomplete_tail("a\xe4\xb8\xad"), 0);
  EXPECT_EQ(incomplete_tail("a\x80"), 0);
}

TEST(Unicode, NormalFormKeepsInvalidBytes) {
  EXPECT_EQ(normalize_text("e\xCC\x81\xff", NormalForm::kC), "\xC3\xA9\xff");
  EXPECT_TRUE(surely_nfc("caf\xC3\xA9 \xE4\xB8\xAD \xEA\xB0\x81"));
  EXPECT_FALSE(surely_nfc("e\xCC\x81"));
}

TEST(Unicode, ClassesAreThoseOfUnicode17) {
  const uint8_t* classes = char_classes();
  EXPECT_EQ(class_of(classes, 'a'), kLetter);
  EXPECT_EQ(class_of(classes, 0x1c89), kLetter);  // of Unicode 16
  EXPECT_EQ(class_of(classes, 0x10d40), kNumber);
  EXPECT_TRUE(is_word_char(0x10d40));
  EXPECT_EQ(class_of(classes, 0xbd), kNumber);  // one half
  EXPECT_FALSE(is_word_char(0xbd));
  EXPECT_EQ(class_of(classes, 0x85), kSpace);
  EXPECT_EQ(class_of(classes, '\n'), kSpace | kNewline);
  EXPECT_EQ(class_of(classes, 0x180e), kOther);
  EXPECT_EQ(class_of(classes, 0x10ffff), kOther);
}

TEST(Unicode, UpperCaseAndWhatReprLeaves) {
  std::string upper;
  for (const uint32_t c : {0x61u, 0xdfu, 0xe9u, 0xfb01u, 0x31u}) append_upper_char(c, upper);
  EXPECT_EQ(upper,
            "ASS\xC3\x89"
            "FI1");
  for (const uint32_t c : {0x20u, 0x7eu, 0xe9u, 0x1f600u}) EXPECT_TRUE(is_printable_char(c)) << c;
  for (const uint32_t c : {0x0au, 0x7fu, 0xa0u, 0x200bu, 0x2028u, 0xe000u, 0x10ffffu})
    EXPECT_FALSE(is_printable_char(c)) << c;
}

TEST(Unicode, ByteAlphabetRoundTrips) {
  std::string all, mapped, back;
  for (int b = 0; b < 256; ++b) all += static_cast<char>(b);
  append_byte_level(all, mapped);
  append_byte_level_decoded(mapped, back);
  EXPECT_EQ(back, all);
}

}  // namespace
}  // namespace hone
