#include "learn/harness/run/not_finite_rows.h"

#include <gmock/gmock.h>

namespace hone {
namespace {

using testing::ElementsAre;

// Rows of 3, 1, 4 and 2 tokens; the micro-batch takes rows 3, 0 and 2, of 9 tokens in 16.
class NotFiniteRows : public testing::Test {
 protected:
  NotFiniteRows() {
    TokenRows rows;
    const std::vector<int32_t> ids{1, 2, 3, 4};
    int64_t line = 10;
    for (const size_t n : {3, 1, 4, 2})
      rows.add(std::span(ids).first(n), rows.place_in("a.csv", ++line, false));
    data_ = ExampleRows(std::move(rows));
  }
  std::vector<size_t> holding(Shape shape, std::vector<int64_t> slices,
                              Phase phase = Phase::forward) {
    NotFinite found;
    found.shape = std::move(shape);
    found.slices = std::move(slices);
    found.phase = phase;
    return rows_that_hold(found, rows_, shape_, weights_);
  }

  ExampleRows data_;
  std::vector<int64_t> taken_{3, 0, 2}, weights_{24, 16};
  CollatedRows rows_{data_, {taken_, {}}, 0};
  BatchShape shape_{{{kTokens, 16}, {kSequences, 4}}};
};

TEST_F(NotFiniteRows, TokensBelongToRows) {
  EXPECT_THAT(holding({16, 8}, {0, 1}), ElementsAre(0));
  EXPECT_THAT(holding({16, 8}, {4}), ElementsAre(1));
  EXPECT_THAT(holding({16}, {1, 5, 8}), ElementsAre(0, 2));
  EXPECT_THAT(holding({4, 8}, {2}), ElementsAre(2));
}

TEST_F(NotFiniteRows, WhatIsNotOfARowNamesAll) {
  EXPECT_THAT(holding({}, {0}), ElementsAre(0, 1, 2));
  EXPECT_THAT(holding({24, 8}, {4}), ElementsAre(0, 1, 2));
  EXPECT_THAT(holding({16, 8}, {12}), ElementsAre(0, 1, 2));                  // slack
  EXPECT_THAT(holding({16, 8}, {4}, Phase::backward), ElementsAre(0, 1, 2));  // or a weight's
  weights_.pop_back();
  EXPECT_THAT(holding({16, 8}, {4}, Phase::backward), ElementsAre(1));
  shape_.axes[1].size = 16;
  EXPECT_THAT(holding({16, 8}, {4}), ElementsAre(0, 1, 2));
}

TEST_F(NotFiniteRows, PlacesAreThoseOfTheFiles) {
  const std::vector<size_t> all{0, 1, 2};
  EXPECT_THAT(places_of(rows_, all), ElementsAre("a.csv:14", "a.csv:11", "a.csv:13"));
  TokenRows rows;
  const std::vector<int32_t> ids{1};
  for (int i = 0; i < 9; ++i) rows.add(ids);
  rows.add(ids, rows.place_in("b.parquet", 3, true));
  data_ = ExampleRows(std::move(rows));
  taken_ = {9, 1, 2, 3, 4, 5, 6};
  const std::vector<size_t> seven{0, 1, 2, 3, 4, 5, 6};
  const CollatedRows more{data_, {taken_, {}}, 0};
  EXPECT_THAT(places_of(more, seven), ElementsAre("b.parquet row 3", "row 2 of the training rows",
                                                  "row 3 of the training rows",
                                                  "row 4 of the training rows", "and 3 rows more"));
}

}  // namespace
}  // namespace hone
