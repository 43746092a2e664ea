// Token rows, their order and selection; goldens from Transformers and datasets
// (tools/golden_data.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <random>
#include <set>

#include "base/core/json.h"
#include "learn/data/rows/bytes_test.h"
#include "learn/data/rows/files.h"
#include "learn/data/rows/order.h"
#include "learn/data/rows/selection.h"
#include "learn/data/rows/text_reader.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

nlohmann::json golden(const std::string& name) {
  std::ifstream in(HONE_SOURCE_DIR "/tests/goldens/learn_data/" + name);
  return nlohmann::json::parse(in);
}

// One token a byte.
Status bytes_as_tokens(std::span<const std::string_view> texts,
                       std::vector<std::vector<int32_t>>& ids) {
  for (const std::string_view text : texts) ids.emplace_back(text.begin(), text.end());
  return Ok{};
}

TEST(TextBuilder, BlocksAreThoseOfGroupTexts) {
  for (const auto& g : golden("blocks.json")) {
    TextOptions options;
    options.block_size = g["block"];
    TokenRows rows;
    TextBuilder builder(options);
    int32_t next = 0;
    for (const int64_t n : g["lengths"]) {
      std::vector<int32_t> ids(static_cast<size_t>(n));
      std::iota(ids.begin(), ids.end(), next);
      next += static_cast<int32_t>(n);
      builder.add(ids, rows);
    }
    builder.finish();
    std::vector<int64_t> firsts;
    for (int64_t i = 0; i < rows.size(); ++i) {
      firsts.push_back(rows.row(i)[0]);
      EXPECT_EQ(rows.length(i), options.block_size);
      EXPECT_EQ(rows.row(i).back(), rows.row(i)[0] + options.block_size - 1);
    }
    EXPECT_EQ(firsts, g["firsts"].get<std::vector<int64_t>>());
    EXPECT_EQ(builder.state().counts.tokens_read, next);
    EXPECT_EQ(builder.state().counts.tokens_kept + builder.state().counts.tokens_dropped, next);
  }
}

// A block is where its first token is.
TEST(TextBuilder, BlocksKnowTheLineTheyBeginIn) {
  TextOptions options;
  options.block_size = 4;
  TokenRows rows;
  TextBuilder builder(options);
  int64_t line = 0;
  for (const size_t n : {3, 2, 9, 2}) {
    ++line;
    builder.add(std::vector<int32_t>(n), rows, rows.place_in(line < 3 ? "a" : "b", line, line > 3));
  }
  builder.finish();
  ASSERT_EQ(rows.size(), 4);
  std::vector<std::string> places;
  for (int64_t i = 0; i < 4; ++i) places.push_back(rows.place_text(i));
  EXPECT_THAT(places, ElementsAre("a:1", "a:2", "b:3", "b:3"));
  rows.add(std::vector<int32_t>{1});
  EXPECT_EQ(rows.place_text(4), "");
  TokenRows other;
  other.add(std::vector<int32_t>{1});
  other.add_from(rows, 2);
  other.add_from(rows, 4);
  EXPECT_EQ(other.place_text(0), "");
  EXPECT_EQ(other.place_text(1), "b:3");
  EXPECT_EQ(other.place_text(2), "");
  other.keep_first(1);
  other.add_from(rows, 0);
  EXPECT_EQ(other.place_text(1), "a:1");
}

TEST(TextBuilder, PackingKeepsRowsApart) {
  TextOptions options;
  options.grouping = Grouping::kRows;
  options.block_size = 4;
  options.eos = 0;
  TokenRows rows;
  TextBuilder builder(options);
  for (const std::vector<int32_t>& row : std::vector<std::vector<int32_t>>{
           {1, 2}, {3, 4, 0}, {5, 6, 7, 8}, {1, 2, 3, 4, 5, 6}, {}, {9}}) {
    builder.add(row, rows);
  }
  builder.finish();
  ASSERT_EQ(rows.size(), 5);
  EXPECT_THAT(rows.row(0), ElementsAre(1, 2, 0));
  EXPECT_THAT(rows.row(1), ElementsAre(3, 4, 0));
  EXPECT_THAT(rows.row(2), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(rows.row(3), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(rows.row(4), ElementsAre(9, 0));
  const TextCounts& c = builder.state().counts;
  EXPECT_EQ(c.rows_too_short, 1);
  EXPECT_EQ(c.rows_cut, 2);
  EXPECT_EQ(c.eos_appended, 2);
  EXPECT_EQ(c.tokens_dropped, 2);
  EXPECT_EQ(c.tokens_read + c.eos_appended - c.tokens_dropped, c.tokens_kept);
}

TEST(ReadTextRows, TokenisesTextAndTakesIds) {
  TextOptions options;
  options.block_size = 3;
  auto rows = std::move(
      open_rows_of_bytes(
          "a.jsonl", "{\"text\":\"ab\"}\n{\"text\":[7,8]}\n{\"text\":null}\n{\"text\":\"cd\"}\n")
          .value());
  auto data = read_text_rows(std::move(rows), options, bytes_as_tokens);
  ASSERT_TRUE(data.ok()) << data.error().text();
  ASSERT_EQ(data->rows.size(), 2);
  EXPECT_THAT(data->rows.row(0), ElementsAre('a', 'b', 7));
  EXPECT_THAT(data->rows.row(1), ElementsAre(8, 'c', 'd'));
  EXPECT_EQ(data->counts.rows_read, 4);

  auto again = std::move(open_rows_of_bytes("a.txt", "abcd\nefgh\nijkl\n").value());
  options.first_row = 1;
  options.end_row = 2;
  EXPECT_THAT(read_text_rows(std::move(again), options, bytes_as_tokens)->rows.row(0),
              ElementsAre('e', 'f', 'g'));
}

TEST(TextReader, GoesOnFromAnyPlace) {
  std::string text;
  for (int i = 0; i < 3300; ++i) text += fmt::format("{}{}\n", i, std::string(i % 5, 'x'));
  for (const Grouping grouping : {Grouping::kBlocks, Grouping::kRows}) {
    TextOptions options;
    options.grouping = grouping;
    options.block_size = 64;
    options.eos = 0;
    options.first_row = 7;
    options.end_row = 3250;
    const auto open = [&] {
      return TextReader(std::move(open_rows_of_bytes("a.txt", text).value()), options,
                        bytes_as_tokens);
    };
    TextReader whole = open();
    TokenRows all;
    std::vector<std::pair<std::string, int64_t>> places;
    do {
      places.emplace_back(dump_json(whole.place().to_json()), all.size());
    } while (*whole.read(all));
    ASSERT_GE(places.size(), 4u);
    for (const auto& [place, first] : places) {
      TextReader again = open();
      ASSERT_TRUE(again.seek(*position_from_json(*parse_json(place, "p"), "p")).ok());
      TokenRows rest;
      while (*again.read(rest)) continue;
      ASSERT_EQ(rest.size(), all.size() - first);
      for (int64_t i = 0; i < rest.size(); ++i)
        ASSERT_TRUE(std::ranges::equal(rest.row(i), all.row(first + i)));
      EXPECT_EQ(again.counts().tokens_read, whole.counts().tokens_read);
      EXPECT_EQ(again.counts().tokens_dropped, whole.counts().tokens_dropped);
    }
  }
  EXPECT_THAT(position_from_json(Json::object(), "p").error().text(), HasSubstr("H2102"));
}

// An array of rows on one line: the place of a fault counts from the start of the line.
TEST(TextReader, ContinuesWithinALine) {
  std::string text = "[";
  for (int i = 0; i < 1500; ++i) text += R"({"text": "some words"}, )";
  text += R"({"text": oops}])";
  const auto open = [&] {
    return TextReader(std::move(open_rows_of_bytes("a.json", text).value()), {}, bytes_as_tokens);
  };
  const auto fault_of = [](TextReader& reader) {
    TokenRows rows;
    for (;;)
      if (const Result<bool> more = reader.read(rows); !more.ok()) return more.error().text();
  };
  TextReader whole = open();
  TokenRows rows;
  ASSERT_TRUE(whole.read(rows).ok());
  Json place = whole.place().to_json();
  const std::string fault = fault_of(whole);
  EXPECT_THAT(fault, HasSubstr("a.json:1:360"));

  TextReader again = open();
  ASSERT_TRUE(again.seek(*position_from_json(place, "p")).ok());
  EXPECT_EQ(fault_of(again), fault);
  place["at"].erase(4);  // without the column, as older versions wrote it
  EXPECT_TRUE(position_from_json(place, "p").ok());
}

TEST(ReadTextRows, ARowThatIsCutKeepsItsLastTokensAndSaysWhatWasDropped) {
  TextOptions options;
  options.grouping = Grouping::kRows;
  options.block_size = 4;
  options.last_kept = 1;
  const auto data = read_text_rows(
      std::move(open_rows_of_bytes("a.txt", "abcdefg\nxy\n", {.keep_linebreaks = false}).value()),
      options, bytes_as_tokens);
  ASSERT_TRUE(data.ok()) << data.error().text();
  EXPECT_TRUE(std::ranges::equal(data->rows.row(0), std::vector<int32_t>{'a', 'b', 'c', 'g'}));
  EXPECT_TRUE(std::ranges::equal(data->rows.row(1), std::vector<int32_t>{'x', 'y'}));
  EXPECT_EQ(data->counts.tokens_dropped, 3);
  EXPECT_EQ(data->counts.rows_cut, 1);
}

TEST(ReadTextRows, Errors) {
  TextOptions options;
  auto few = std::move(open_rows_of_bytes("a.txt", "abc\n").value());
  EXPECT_EQ(read_text_rows(std::move(few), options, bytes_as_tokens).error().text(),
            "H2114  4 tokens in 1 row do not fill one block of 1024\n"
            "  do   use `block_size` 4 or less, or `packing`, or give more text");
  auto none = std::move(open_rows_of_bytes("a.txt", "").value());
  EXPECT_THAT(read_text_rows(std::move(none), options, bytes_as_tokens).error().text(),
              HasSubstr("H2113"));
  auto number =
      std::move(open_rows_of_bytes("a.jsonl", "{\"text\":\"x\"}\n{\"text\":1}\n").value());
  EXPECT_EQ(read_text_rows(std::move(number), options, bytes_as_tokens).error().text(),
            "H2110  column 'text' holds integer where text is needed\n"
            "  at   a.jsonl:2\n"
            "  do   name the column that holds the text, or write the value as text");
}

TEST(RowOrder, IsAPermutationForEveryEpoch) {
  for (const int64_t n : {1, 2, 3, 7, 255, 256, 257, 1000, 4097}) {
    const RowOrder order = RowOrder::shuffled(n, 42);
    for (const int64_t epoch : {0, 1, 5}) {
      std::set<int64_t> seen;
      for (int64_t i = 0; i < n; ++i) seen.insert(order.index(epoch, i));
      EXPECT_EQ(static_cast<int64_t>(seen.size()), n);
      EXPECT_EQ(*seen.rbegin(), n - 1);
    }
  }
  EXPECT_EQ(RowOrder::sequential(9).index(3, 5), 5);
}

TEST(RowOrder, IsUniformAndFrozen) {
  // Each of 5 rows comes first, and each of the 120 orders comes, about equally often.
  std::map<std::vector<int64_t>, int> orders;
  const RowOrder order = RowOrder::shuffled(5, 1);
  constexpr int kEpochs = 24000;
  for (int e = 0; e < kEpochs; ++e) {
    std::vector<int64_t> all;
    for (int64_t i = 0; i < 5; ++i) all.push_back(order.index(e, i));
    ++orders[all];
  }
  EXPECT_EQ(orders.size(), 120u);
  double chi2 = 0;
  for (const auto& [all, count] : orders)
    chi2 += (count - kEpochs / 120.0) * (count - kEpochs / 120.0) / (kEpochs / 120.0);
  EXPECT_LT(chi2, 180);  // 119 degrees of freedom: beyond it with probability 3e-4
  // Neighbours do not stay neighbours.
  const RowOrder large = RowOrder::shuffled(100000, 7);
  int64_t close = 0;
  for (int64_t i = 0; i + 1 < 100000; ++i)
    close += std::abs(large.index(0, i) - large.index(0, i + 1)) < 100;
  EXPECT_NEAR(static_cast<double>(close), 199, 70);
  std::vector<int64_t> first;
  for (int64_t i = 0; i < 6; ++i) first.push_back(large.index(3, i));
  EXPECT_THAT(first, ElementsAre(73430, 58637, 91025, 46534, 27370, 24010));
}

TEST(Selection, RoundsAsPython) {
  EXPECT_EQ(*validation_rows(1000, 5), 50);
  EXPECT_EQ(*validation_rows(50, 5), 2);  // 2.5 to even
  EXPECT_EQ(*validation_rows(70, 5), 4);  // 3.5 to even
  EXPECT_EQ(*validation_rows(1, 5), 0);
  EXPECT_THAT(validation_rows(10, 101).error().text(), HasSubstr("H2115"));
  EXPECT_EQ(*selected_rows(100, -1, 1), 100);
  EXPECT_EQ(*selected_rows(100, 7, 0.5), 7);
  EXPECT_EQ(*selected_rows(25, -1, 0.1), 2);
  EXPECT_THAT(selected_rows(10, -1, 0).error().text(), HasSubstr("H2115"));
  EXPECT_THAT(selected_rows(3, -1, 0.1).error().text(), HasSubstr("H2115"));
}

}  // namespace
}  // namespace hone
