#include "learn/tasks/text_shards.h"

#include <gmock/gmock.h>

#include "base/store/temporary_folder.h"

namespace hone {
namespace {

using ::testing::ElementsAre;

// A query and lists of texts; "b" is in both rows.
TableOfTexts table_with_lists() {
  TableOfTexts table;
  table.columns = {"query", "positive", "negative"};
  table.texts = {{"a", "b"}, {}, {}};
  table.lists = {{}, {{"b"}, {"c"}}, {{"d", "a"}, {}}};
  table.label_column = "score";
  table.labels_of_row = 2;
  table.labels = {0.25f, -1, 3, 0.1f};
  table.places = {"x:1", "x:2"};
  table.note = "texts from x";
  return table;
}

// Sequences of 1, 2, 3, 1 tokens, of which the first row has three.
TextRows four_sequences() {
  TextRows rows;
  int32_t id = 10;
  for (const int32_t length : {1, 2, 3, 1}) {
    std::vector<int32_t> ids;
    for (int32_t k = 0; k < length; ++k) ids.push_back(id++), rows.types.push_back(k > 0);
    rows.rows.add(ids);
    rows.lengths.push_back(length);
  }
  return rows;
}

class TextShards : public ::testing::Test {
 protected:
  ShardManifest write(const RowSplit& split) {
    PrepareOptions options{.folder = folder_.path + "/shards", .settings = {{"task", "x"}}};
    const auto made = prepare_rows({}, options, [&]() -> Result<std::vector<RowSplit>> {
      return std::vector<RowSplit>{split};
    });
    EXPECT_TRUE(made.ok()) << (made.ok() ? "" : made.error().text());
    return made->manifest;
  }
  Result<TableOfTexts> open(const ShardManifest& made, int64_t limit = -1) {
    return open_text_shards(folder_.path + "/shards", made, "train", limit);
  }
  RowSplit split_ = text_shards_of("train", table_with_lists(), four_sequences(), {3, 1});
  TemporaryFolder folder_;
};

TEST_F(TextShards, GiveTheTableBackWithNumbersForTexts) {
  const ShardManifest made = write(split_);
  const Result<TableOfTexts> back = open(made);
  ASSERT_TRUE(back.ok()) << back.error().text();
  const TableOfTexts want = table_with_lists();
  EXPECT_EQ(back->columns, want.columns);
  EXPECT_THAT(back->texts, ElementsAre(ElementsAre("0", "1"), ElementsAre(), ElementsAre()));
  EXPECT_THAT(back->lists[1], ElementsAre(ElementsAre("1"), ElementsAre("3")));
  EXPECT_THAT(back->lists[2], ElementsAre(ElementsAre("2", "0"), ElementsAre()));
  EXPECT_EQ(back->labels, want.labels);
  EXPECT_EQ(back->label_column, want.label_column);
  EXPECT_EQ(back->note, want.note);
  EXPECT_EQ(back->rows(), 2);

  const TextRows all = rows_of_tokens(*back, 0).value(), same = four_sequences();
  EXPECT_EQ(all.rows.hash(), same.rows.hash());
  EXPECT_EQ(all.lengths, same.lengths);
  EXPECT_EQ(all.types, same.types);
  EXPECT_STREQ(rows_of_tokens(*back, 3).error().code(), "H2132");

  EXPECT_EQ(open(made, 1)->rows(), 1);
  const TableOfTexts first = peek_text_shards(folder_.path + "/shards", "train").value();
  EXPECT_EQ(first.columns, want.columns);
  EXPECT_EQ(first.labels_of_row, 2);
  EXPECT_FALSE(first.has_lists(0));
  EXPECT_TRUE(first.has_lists(2));
}

TEST_F(TextShards, OthersAreRefused) {
  // Columns: lengths, types, counts, texts, label_bits.
  for (size_t column = 0; column < 5; ++column) {
    RowSplit split = split_;
    TokenRows other;
    const std::vector<int32_t> row{-1};
    other.add(row), other.add(row);
    split.beside[column] = {split.beside[column].name, std::move(other)};
    const TemporaryFolder folder;
    const Result<Prepared> made = prepare_rows(
        {}, {.folder = folder.path + "/s", .settings = {{"task", "x"}}},
        [&]() -> Result<std::vector<RowSplit>> { return std::vector<RowSplit>{split}; });
    ASSERT_TRUE(made.ok()) << made.error().text();
    const auto back = open_text_shards(folder.path + "/s", made->manifest, "train");
    ASSERT_FALSE(back.ok()) << column;
    EXPECT_STREQ(back.error().code(), "H2132") << column;
  }
}

TEST(TextRows, AppendedRowsWithoutTypesHaveTypeZero) {
  TextRows rows = four_sequences(), plain = four_sequences();
  plain.types.clear();
  const std::vector<uint8_t> types = rows.types;
  append_rows(rows, plain);
  append_rows(plain, four_sequences());
  EXPECT_EQ(rows.rows.size(), 8);
  EXPECT_EQ(rows.lengths, plain.lengths);
  std::vector<uint8_t> first = types, last(types.size());
  first.resize(2 * types.size());
  last.insert(last.end(), types.begin(), types.end());
  EXPECT_EQ(rows.types, first);
  EXPECT_EQ(plain.types, last);
}

}  // namespace
}  // namespace hone
