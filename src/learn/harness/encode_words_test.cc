// Words with labels: the ids and labels of run_ner (tests/goldens/ner, made by
// tools/golden_ner.py).
#include <gtest/gtest.h>

#include <fstream>

#include "learn/harness/encode.h"
#include "learn/tokenizers/load/load.h"

namespace hone {
namespace {

const std::string kNer = std::string(HONE_SOURCE_DIR) + "/tests/goldens/ner/";

class Words : public testing::TestWithParam<std::string> {
 protected:
  Tokenizer tokenizer() { return for_words(load_tokenizer(kNer + GetParam()).value()).value(); }
};

TEST_P(Words, HaveTheIdsAndLabelsOfTransformers) {
  const Json golden = Json::parse(std::ifstream(kNer + GetParam() + "/golden.json"));
  const Tokenizer words = tokenizer();
  ThreadPool pool(2);
  const EncodeWords encode = [&](auto rows, auto out) {
    return encode_words(words, pool, 24, rows, out);
  };
  for (const bool all : {false, true}) {
    TaggedText text = read_tagged({kNer + "train.jsonl"}, {}, {}, encode, all).value();
    const LabelMap map = sorted_labels(text.seen).value();
    ASSERT_TRUE(number_tags(text, map).ok());
    ASSERT_EQ(text.data.size(), static_cast<int64_t>(golden["ids"].size()));
    for (int64_t i = 0; i < text.data.size(); ++i) {
      const auto k = static_cast<size_t>(i);
      const auto ids = text.data.rows.row(i), tags = text.data.labels.tags_of(text.data.rows, i);
      EXPECT_EQ(std::vector(ids.begin(), ids.end()), golden["ids"][k].get<std::vector<int32_t>>());
      EXPECT_EQ(std::vector(tags.begin(), tags.end()),
                golden[all ? "all_tags" : "tags"][k].get<std::vector<int32_t>>())
          << i;
    }
    EXPECT_GT(text.counts.rows_cut, 0);
  }
}

TEST_P(Words, AreCutAtTheSideOfTheTokenizerAndNeverBelowItsSpecialTokens) {
  const Tokenizer words = tokenizer();
  ThreadPool pool(1);
  const std::vector<std::vector<std::string>> rows{{"New", "Harbour"}, {}};
  std::vector<EncodedWords> out(2);
  ASSERT_TRUE(encode_words(words, pool, 2, rows, out).ok());
  EXPECT_EQ(out[0].ids.size(), 2u);
  EXPECT_EQ(out[0].word, (std::vector<int32_t>{-1, -1}));
  EXPECT_TRUE(out[0].cut);
  EXPECT_FALSE(out[1].cut);
  EXPECT_FALSE(encode_words(words, pool, 1, rows, out).ok());
}

TEST_P(Words, TheTokenizerIsSavedAsItWasUsed) {
  const Tokenizer words = tokenizer();
  const std::string folder = testing::TempDir() + "hone_words_" + GetParam();
  ASSERT_TRUE(save_tokenizer(words, folder).ok());
  const Tokenizer again = load_tokenizer(folder).value();
  EXPECT_EQ(again.encode("Harbour"), words.encode("Harbour"));
  EXPECT_EQ(tokenizer_json(for_words(again).value()), tokenizer_json(words));
  if (GetParam() == "roberta") {
    EXPECT_NE(words.encode("Harbour"), load_tokenizer(kNer + GetParam())->encode("Harbour"));
  }
}

INSTANTIATE_TEST_SUITE_P(All, Words, testing::Values("bert", "roberta"),
                         [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hone
