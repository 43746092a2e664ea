// Two-sided packing: every token of every pair is where its sequence is, on both sides.
#include "learn/data/batches/pair_batch.h"

#include <gtest/gtest.h>

#include <numeric>
#include <random>

namespace hone {
namespace {

struct Pairs {
  TokenRows sources, targets;
  std::vector<int64_t> source_lengths, target_lengths, rows;
};

// Source row i holds 1000 i + 1, 1000 i + 2, …; target row i the same, negated.
Pairs make_pairs(const std::vector<std::pair<int, int>>& lengths) {
  Pairs p;
  for (auto [source, target] : lengths) {
    const auto first = static_cast<int32_t>(1000 * p.rows.size() + 1);
    std::vector<int32_t> ids(static_cast<size_t>(std::max(source, target)));
    std::iota(ids.begin(), ids.end(), first);
    p.sources.add(std::span(ids).first(static_cast<size_t>(source)));
    for (int32_t& id : ids) id = -id;
    p.targets.add(std::span(ids).first(static_cast<size_t>(target)));
    p.source_lengths.push_back(source);
    p.target_lengths.push_back(target);
    p.rows.push_back(static_cast<int64_t>(p.rows.size()));
  }
  return p;
}

TEST(PairBatch, AWholeStepFitsWhicheverPairsItHas) {
  std::mt19937 random(3);
  std::vector<int64_t> sources, targets;
  for (int i = 0; i < 60; ++i) {
    sources.push_back(1 + static_cast<int64_t>(random() % 300));
    targets.push_back(1 + static_cast<int64_t>(random() % 40));
  }
  const PairGrid grid = choose_pair_grid(sources, targets, 8, 0, true);
  EXPECT_LE(grid.budgets.size(), PairGrid::kMaxBudgets);
  std::sort(sources.rbegin(), sources.rend());
  std::sort(targets.rbegin(), targets.rend());
  PairStepPlan plan;
  plan_pair_step(std::span(sources).first(8), std::span(targets).first(8), grid, plan);
  EXPECT_EQ(plan.batches.size(), 1u);
  EXPECT_EQ(grid.budgets[plan.batches[0].budget], grid.largest());
}

TEST(PairBatch, EveryPairIsThereOnceOnBothSides) {
  std::mt19937 random(7);
  std::vector<std::pair<int, int>> lengths;
  for (int i = 0; i < 200; ++i)
    lengths.push_back({1 + static_cast<int>(random() % 90), 1 + static_cast<int>(random() % 25)});
  const Pairs p = make_pairs(lengths);
  const PairGrid grid = choose_pair_grid(p.source_lengths, p.target_lengths, 8);
  EXPECT_LE(grid.budgets.size(), PairGrid::kMaxBudgets);
  for (const PairBudget& b : grid.budgets) {
    EXPECT_LE(b.source, grid.largest().source);
    EXPECT_LE(b.target, grid.largest().target);
  }
  PairStepPlan plan;
  PairMicroBatch batch;
  reserve_pair_step(p.rows.size(), grid, plan, batch);
  const int32_t* memory = nullptr;
  for (const int64_t start : {int64_t{77}, int64_t{-1}}) {
    plan_pair_step(p.source_lengths, p.target_lengths, grid, plan);
    std::vector<int> seen(lengths.size(), 0);
    int64_t source_tokens = 0, label_tokens = 0;
    for (const PairBatchPlan& micro : plan.batches) {
      ASSERT_TRUE(fill_pair_batch(p.sources, p.targets, start, p.rows, micro, grid, batch).ok());
      if (memory == nullptr) memory = batch.target.labels.data();
      EXPECT_EQ(batch.target.labels.data(), memory) << "memory was taken again";
      const PairBudget budget = grid.budgets[micro.budget];
      EXPECT_EQ(batch.source.ids.size(), static_cast<size_t>(budget.source));
      EXPECT_EQ(batch.target.ids.size(), static_cast<size_t>(budget.target));
      EXPECT_EQ(batch.source.cu_seqlens.size(), batch.target.cu_seqlens.size());
      const auto n = static_cast<size_t>(batch.source.sequences);
      EXPECT_EQ(batch.source.row_ids, batch.target.row_ids);
      for (size_t s = 0; s < n; ++s) {
        const auto row = static_cast<size_t>(batch.source.row_ids[s]);
        ++seen[row];
        auto check = [&](const MicroBatch& side, const TokenRows& data,
                         const std::vector<int32_t>& tokens) {
          const auto from = static_cast<size_t>(side.cu_seqlens[s]),
                     to = static_cast<size_t>(side.cu_seqlens[s + 1]);
          const auto want = data.row(static_cast<int64_t>(row));
          ASSERT_EQ(to - from, want.size());
          for (size_t i = 0; i < want.size(); ++i) {
            EXPECT_EQ(tokens[from + i], want[i]);
            EXPECT_EQ(side.positions[from + i], static_cast<int32_t>(i));
            EXPECT_EQ(side.sample_ids[from + i], static_cast<int64_t>(row));
          }
        };
        check(batch.source, p.sources, batch.source.ids);
        check(batch.target, p.targets, batch.target.labels);
        // The decoder reads the labels one later.
        const auto from = static_cast<size_t>(batch.target.cu_seqlens[s]),
                   to = static_cast<size_t>(batch.target.cu_seqlens[s + 1]);
        EXPECT_EQ(batch.target.ids[from],
                  start >= 0 ? static_cast<int32_t>(start) : batch.target.labels[to - 1]);
        for (size_t i = from + 1; i < to; ++i)
          EXPECT_EQ(batch.target.ids[i], batch.target.labels[i - 1]);
      }
      for (size_t i = static_cast<size_t>(batch.target.cu_seqlens[n]);
           i < batch.target.labels.size(); ++i) {
        EXPECT_EQ(batch.target.labels[i], kIgnoreLabel);
        EXPECT_EQ(batch.target.sample_ids[i], -1);
      }
      source_tokens += batch.source.tokens;
      label_tokens += batch.target.label_tokens;
    }
    EXPECT_EQ(seen, std::vector<int>(lengths.size(), 1));
    EXPECT_EQ(source_tokens, plan.source_tokens);
    EXPECT_EQ(label_tokens, plan.label_tokens);
    EXPECT_EQ(label_tokens, p.targets.tokens());
  }
}

TEST(PairBatch, TheBudgetWithTheLeastSlackIsTaken) {
  const std::vector<int64_t> sources{400, 100, 300, 200}, targets{20, 64, 30, 10};
  const PairGrid grid = choose_pair_grid(sources, targets, 4);
  for (int64_t s = 1; s <= grid.largest().source; s += 61)
    for (int64_t t = 1; t <= grid.largest().target; t += 13) {
      const PairBudget got = grid.budgets[grid.index(s, t)];
      EXPECT_TRUE(got.source >= s && got.target >= t);
      for (const PairBudget& b : grid.budgets)
        if (b.source >= s && b.target >= t) EXPECT_LE(got.source + got.target, b.source + b.target);
    }
}

// Pairs of one length need no slack: a micro-batch is exactly its rows.
TEST(PairBatch, EqualPairsFillTheirBudget) {
  const std::vector<int64_t> sources(10, 512), targets(10, 128);
  const PairGrid grid = choose_pair_grid(sources, targets, 4, 2);
  EXPECT_EQ(grid.largest(), (PairBudget{2048, 512}));
  PairStepPlan plan;
  plan_pair_step(sources, targets, grid, plan);
  ASSERT_EQ(plan.batches.size(), 3u);
  EXPECT_EQ(grid.budgets[plan.batches[2].budget], (PairBudget{1024, 256}));
}

}  // namespace
}  // namespace hone
