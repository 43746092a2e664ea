// Steps and packed micro-batches; goldens from Transformers (tools/golden_data.py).
#include "learn/data/batches/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "learn/data/batches/labelled_batch.h"
#include "learn/data/batches/steps.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

nlohmann::json golden(const std::string& name) {
  std::ifstream in(HONE_SOURCE_DIR "/tests/goldens/learn_data/" + name);
  return nlohmann::json::parse(in);
}

TEST(StepCount, IsTheTrainers) {
  for (const auto& g : golden("steps.json")) {
    StepOptions o;
    o.rows = g[0], o.batch_rows = g[1], o.accumulation = g[2], o.epochs = g[3], o.max_steps = g[4];
    o.drop_last = g[5] == 1;
    auto steps = StepCount::make(o);
    ASSERT_TRUE(steps.ok()) << g.dump();
    EXPECT_EQ(steps->epochs(), g[6].get<int64_t>()) << g.dump();
    EXPECT_EQ(steps->steps_per_epoch(), g[7].get<int64_t>()) << g.dump();
    EXPECT_EQ(steps->batches_per_epoch(), g[8].get<int64_t>()) << g.dump();
    EXPECT_EQ(steps->total_steps(), g[9].get<int64_t>()) << g.dump();
    // An epoch's steps take its rows, each once and none empty.
    int64_t at = 0;
    for (int64_t s = 0; s < steps->steps_per_epoch(); ++s) {
      const StepRows rows = steps->rows_of_step(s);
      EXPECT_EQ(rows.begin, at);
      EXPECT_GT(rows.end, rows.begin);
      at = rows.end;
    }
    EXPECT_EQ(at, o.drop_last ? o.rows / o.batch_rows * o.batch_rows : o.rows);
    EXPECT_EQ(steps->epoch_after(steps->steps_per_epoch()), 1.0);
  }
  StepOptions o;
  o.rows = 10, o.batch_rows = 2, o.accumulation = 2;
  auto steps = StepCount::make(o);
  EXPECT_EQ(steps->epoch_after(1), 0.4);
  EXPECT_EQ(steps->epoch_after(4), 1.4);
  o.rows = 1, o.drop_last = true;
  EXPECT_THAT(StepCount::make(o).error().text(), HasSubstr("H2113"));
}

TEST(Batch, BlocksFillTheirBudgetExactly) {
  const std::vector<int64_t> lengths(20, 8);
  const BatchGrid grid = choose_grid(lengths, 4, 20 % 3);
  EXPECT_THAT(grid.budgets, ElementsAre(16, 32));
  EXPECT_EQ(grid.slots, 4);
  const StepPlan plan = plan_step(std::span(lengths).first(10), grid);
  ASSERT_EQ(plan.batches.size(), 3u);
  EXPECT_THAT(plan.batches[0].rows, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(plan.batches[2].rows, ElementsAre(8, 9));
  EXPECT_EQ(plan.batches[2].budget, 16);
  EXPECT_EQ(plan.label_tokens, 70);
}

TEST(Batch, AWholeStepFitsWhicheverRowsItHas) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 50; ++i) lengths.push_back(3 + i * i % 71);
  for (int64_t rows : {1, 3, 8, 50, 60}) {
    const BatchGrid grid = choose_grid(lengths, rows, 0, true);
    EXPECT_LE(grid.budgets.size(), BatchGrid::kMaxBudgets);
    EXPECT_TRUE(std::is_sorted(grid.budgets.begin(), grid.budgets.end()));
    std::vector<int64_t> longest = lengths;
    std::sort(longest.rbegin(), longest.rend());
    longest.resize(static_cast<size_t>(std::min<int64_t>(rows, 50)));
    EXPECT_EQ(plan_step(longest, grid).batches.size(), 1u) << rows;
    EXPECT_LT(grid.largest() - std::accumulate(longest.begin(), longest.end(), int64_t{0}), 64);
  }
}

TEST(Batch, RowsArePackedAndEveryTokenIsThere) {
  TokenRows data;
  std::vector<int64_t> lengths, step_rows;
  uint64_t state = 1;
  for (int i = 0; i < 64; ++i) {
    state = state * 6364136223846793005ull + 1442695040888963407ull;
    std::vector<int32_t> ids(2 + (state >> 33) % 200);
    std::iota(ids.begin(), ids.end(), i * 1000);
    data.add(ids);
    lengths.push_back(data.length(i));
    step_rows.push_back(i);
  }
  std::reverse(step_rows.begin(), step_rows.end());
  std::reverse(lengths.begin(), lengths.end());
  const BatchGrid grid = choose_grid(lengths, 8);
  EXPECT_LE(grid.budgets.size(), BatchGrid::kMaxBudgets);
  EXPECT_TRUE(std::is_sorted(grid.budgets.begin(), grid.budgets.end()));
  const StepPlan plan = plan_step(lengths, grid);
  EXPECT_EQ(plan.rows, 64);
  EXPECT_EQ(plan.tokens, data.tokens());
  int64_t planned = 0, labels = 0, filled = 0;
  std::multiset<int64_t> seen;
  MicroBatch batch;
  for (const MicroBatchPlan& p : plan.batches) {
    ASSERT_TRUE(fill_micro_batch(data, step_rows, p, grid, batch).ok());
    const auto T = static_cast<size_t>(p.budget);
    ASSERT_EQ(batch.ids.size(), T);
    ASSERT_EQ(batch.cu_seqlens.size(), static_cast<size_t>(grid.slots) + 1);
    EXPECT_EQ(batch.cu_seqlens.front(), 0);
    EXPECT_EQ(batch.cu_seqlens.back(), p.budget);
    EXPECT_TRUE(std::is_sorted(batch.cu_seqlens.begin(), batch.cu_seqlens.end()));
    for (size_t s = 0; s < p.rows.size(); ++s) {
      seen.insert(batch.row_ids[s]);
      const auto row = data.row(batch.row_ids[s]);
      const auto begin = static_cast<size_t>(batch.cu_seqlens[s]);
      ASSERT_EQ(static_cast<size_t>(batch.cu_seqlens[s + 1]) - begin, row.size());
      for (size_t i = 0; i < row.size(); ++i) {
        EXPECT_EQ(batch.ids[begin + i], row[i]);
        EXPECT_EQ(batch.labels[begin + i], i + 1 < row.size() ? row[i + 1] : kIgnoreLabel);
        EXPECT_EQ(batch.positions[begin + i], static_cast<int32_t>(i));
        EXPECT_EQ(batch.sample_ids[begin + i], batch.row_ids[s]);
      }
    }
    for (size_t i = static_cast<size_t>(batch.tokens); i < T; ++i) {
      EXPECT_EQ(batch.labels[i], kIgnoreLabel);
      EXPECT_EQ(batch.sample_ids[i], -1);
      EXPECT_EQ(batch.positions[i], 0);
    }
    planned += p.budget;
    labels += batch.label_tokens;
    filled += batch.tokens;
  }
  EXPECT_EQ(seen.size(), 64u);
  EXPECT_EQ(labels, plan.label_tokens);
  EXPECT_EQ(filled, plan.tokens);
  EXPECT_LT(static_cast<double>(planned), 1.25 * static_cast<double>(plan.tokens));
}

TEST(LabelledBatch, HasTypesAndLabels) {
  LabelledRows data;
  data.rows.add(std::vector<int32_t>{1, 7, 7, 2, 8, 2});
  data.rows.add(std::vector<int32_t>{1, 7, 2, 8, 2});
  data.labels.types = {0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1};
  data.labels.classes = {0, 1};
  const std::vector<int64_t> rows = {1, 0};
  BatchGrid grid{{16}, 3, 4};
  const StepPlan plan = plan_step(std::vector<int64_t>{5, 6}, grid);
  ASSERT_EQ(plan.batches.size(), 1u);
  MicroBatch batch;
  LabelInputs labels;
  ASSERT_TRUE(fill_micro_batch(data.rows, rows, plan.batches[0], grid, batch).ok());
  fill_label_inputs(data.rows, data.labels, batch, labels);
  EXPECT_THAT(batch.cu_seqlens, ElementsAre(0, 5, 11, 16, 16));
  EXPECT_THAT(labels.token_types, ElementsAre(0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(labels.classes, ElementsAre(1, 0, kIgnoreLabel, kIgnoreLabel));
}

}  // namespace
}  // namespace hone
