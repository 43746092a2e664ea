#include "learn/data/batches/rank_rows.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "learn/data/batches/steps.h"

namespace hone {
namespace {

std::vector<int64_t> own_rows(const std::vector<int64_t>& rows, int64_t batch_rows, Share share) {
  std::vector<int64_t> mine;
  add_rows_of_rank(rows, batch_rows, share, mine);
  return mine;
}

std::vector<int64_t> first_rows(int64_t count) {
  std::vector<int64_t> rows(static_cast<size_t>(count));
  std::iota(rows.begin(), rows.end(), int64_t{0});
  return rows;
}

TEST(RankRows, OneRankTakesAll) {
  EXPECT_EQ(own_rows({7, 3, 5}, 2, {}), (std::vector<int64_t>{7, 3, 5}));
}

TEST(RankRows, AWholeBatchIsCutAsInTransformers) {
  // Two batches of 2 ranks x 3 rows.
  EXPECT_EQ(own_rows(first_rows(12), 6, {0, 2}), (std::vector<int64_t>{0, 1, 2, 6, 7, 8}));
  EXPECT_EQ(own_rows(first_rows(12), 6, {1, 2}), (std::vector<int64_t>{3, 4, 5, 9, 10, 11}));
}

TEST(RankRows, AShortBatchIsCutEvenly) {
  // The second batch has 4 rows for 3 ranks.
  EXPECT_EQ(own_rows(first_rows(10), 6, {0, 3}), (std::vector<int64_t>{0, 1, 6}));
  EXPECT_EQ(own_rows(first_rows(10), 6, {1, 3}), (std::vector<int64_t>{2, 3, 7}));
  EXPECT_EQ(own_rows(first_rows(10), 6, {2, 3}), (std::vector<int64_t>{4, 5, 8, 9}));
}

TEST(RankRows, ARankMayHaveNone) {
  EXPECT_EQ(own_rows(first_rows(1), 4, {0, 4}), std::vector<int64_t>());
  EXPECT_EQ(own_rows(first_rows(1), 4, {3, 4}), std::vector<int64_t>{0});
}

// Rule 4 and 19: every rank knows the rows of each step, and each row of an epoch is taken once.
TEST(RankRows, EveryRowOfAnEpochIsTakenOnceByAnyNumberOfRanks) {
  for (int64_t ranks = 1; ranks <= 5; ++ranks) {
    const int64_t all = 23, per_rank = 2, batch_rows = per_rank * ranks;
    const StepCount steps =
        StepCount::make({.rows = all, .batch_rows = batch_rows, .accumulation = 2, .epochs = 1})
            .value();
    std::vector<int64_t> seen;
    for (int64_t step = 0; step < steps.total_steps(); ++step) {
      const StepRows at = steps.rows_of_step(step);
      std::vector<int64_t> rows;
      for (int64_t i = at.begin; i < at.end; ++i) rows.push_back(i);
      int64_t most = 0;
      for (int64_t rank = 0; rank < ranks; ++rank) {
        const std::vector<int64_t> mine = own_rows(rows, batch_rows, {rank, ranks});
        most = std::max<int64_t>(most, std::ssize(mine));
        seen.insert(seen.end(), mine.begin(), mine.end());
      }
      EXPECT_EQ(most, most_rows_of_rank(at.end - at.begin, batch_rows, ranks)) << ranks << step;
    }
    std::sort(seen.begin(), seen.end());
    EXPECT_EQ(seen, first_rows(all)) << ranks;
  }
}

}  // namespace
}  // namespace hone
