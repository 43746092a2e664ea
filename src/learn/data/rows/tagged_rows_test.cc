// Rows of words with labels: columns, labels that are none, and what cannot be read.
#include "learn/data/rows/tagged_rows.h"

#include <gtest/gtest.h>

#include <fstream>

#include "base/store/temporary_folder.h"

namespace hone {
namespace {

// A token for each character of a word, between 1 and 2.
Status letters(std::span<const std::vector<std::string>> rows, std::span<EncodedWords> out) {
  for (size_t i = 0; i < rows.size(); ++i) {
    out[i] = {{1}, {-1}, false};
    for (size_t w = 0; w < rows[i].size(); ++w)
      for (const char c : rows[i][w])
        out[i].ids.push_back(c), out[i].word.push_back(static_cast<int32_t>(w));
    out[i].ids.push_back(2), out[i].word.push_back(-1);
  }
  return Ok{};
}

class Tagged : public testing::Test {
 protected:
  Result<TaggedText> read(const std::string& rows, const TagColumns& columns = {},
                          bool all = false) {
    const std::string file = folder_.path + "/rows.jsonl";
    std::ofstream(file) << rows;
    return read_tagged({file}, {}, columns, letters, all);
  }
  std::string code_of(const std::string& rows, const TagColumns& columns = {}) {
    const auto text = read(rows, columns);
    return text.ok() ? "none" : text.error().code();
  }
  TemporaryFolder folder_;
};

TEST_F(Tagged, LabelsAreThoseOfTheFirstTokenOfAWord) {
  TaggedText text =
      read(R"({"id": 1, "tokens": ["ab", "c"], "pos_tags": [7, 7], "ner_tags": [1, -100]})")
          .value();
  EXPECT_EQ(text.words, "tokens");
  EXPECT_EQ(text.tags, "ner_tags");
  ASSERT_TRUE(number_tags(text, named_labels({"O", "B-X", "I-X"})).ok());
  EXPECT_EQ(text.data.labels.tags, (std::vector<int32_t>{-100, 1, -100, -100, -100}));
}

TEST_F(Tagged, InsideAWordBIsI) {
  TaggedText text =
      read(R"({"tokens": ["ab", "cd"], "ner_tags": ["B-X", "B-Y"]})", {}, true).value();
  ASSERT_TRUE(number_tags(text, named_labels({"B-X", "B-Y", "I-X"})).ok());
  EXPECT_EQ(text.data.labels.tags, (std::vector<int32_t>{-100, 0, 2, 1, 1, -100}));
}

TEST_F(Tagged, OtherColumnsByNameElseByPlace) {
  const std::string rows = R"({"words": ["a"], "labels": ["x"], "pos_tags": ["y"]})";
  EXPECT_EQ(read(rows)->tags, "labels");
  EXPECT_EQ(read(rows, {.task = "pos"})->tags, "pos_tags");
  EXPECT_EQ(read(rows, {.tags = "pos_tags"})->tags, "pos_tags");
  EXPECT_EQ(code_of(rows, {.tags = "poss_tags"}), "H2109");
  EXPECT_EQ(code_of(R"({"tokens": ["a"]})"), "H2109");
  EXPECT_FALSE(read(R"({"tokens": ["a"]})", {.need_tags = false})->tagged);
}

TEST_F(Tagged, RowsThatAreNoListsOfOneLengthAreErrors) {
  EXPECT_EQ(code_of(""), "H2113");
  EXPECT_EQ(code_of(R"({"tokens": "a b", "ner_tags": ["O", "O"]})"), "H2110");
  EXPECT_EQ(code_of(R"({"tokens": ["a"], "ner_tags": "O"})"), "H2110");
  EXPECT_EQ(code_of(R"({"tokens": ["a"], "ner_tags": [0.5]})"), "H2110");
  EXPECT_EQ(code_of(R"({"tokens": ["a", "b"], "ner_tags": ["O"]})"), "H2123");
  EXPECT_EQ(code_of(R"({"tokens": [], "ner_tags": []})"), "none");
}

TEST_F(Tagged, ALabelThatIsNotAmongTheNamesIsAnError) {
  TaggedText text = read(R"({"tokens": ["a"], "ner_tags": ["B-Z"]})").value();
  const Status numbered = number_tags(text, named_labels({"O", "B-X"}));
  ASSERT_FALSE(numbered.ok());
  EXPECT_STREQ(numbered.error().code(), "H2121");
}

}  // namespace
}  // namespace hone
