// Steps and packed micro-batches; goldens from Transformers (tools/golden_data.py).
#include "learn/data/batches/batch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <numeric>
#include <random>
#include <set>

#include "base/core/json.h"
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

BatchGrid grid_of(const std::vector<int64_t>& lengths, int64_t rows, int64_t remainder = 0,
                  bool whole = false) {
  return choose_grid(std::vector{AxisLengths{kTokens, lengths}}, rows, remainder, whole);
}
std::vector<int64_t> sizes_of(const BatchGrid& grid) {
  std::vector<int64_t> sizes;
  for (const BatchShape& shape : grid.shapes) sizes.push_back(shape[kTokens]);
  return sizes;
}
StepPlan plan_of(std::vector<int64_t> lengths, const BatchGrid& grid) {
  StepPlan plan;
  plan_step(std::vector<std::vector<int64_t>>{std::move(lengths)}, grid, plan);
  return plan;
}

TEST(Batch, BlocksFillTheirShapeExactly) {
  const BatchGrid grid = grid_of(std::vector<int64_t>(20, 8), 4, 20 % 3);
  EXPECT_THAT(sizes_of(grid), ElementsAre(16, 32));
  EXPECT_EQ(grid.largest()[kSequences], 4);
  EXPECT_EQ(grid.largest().text(), "32");
  EXPECT_EQ(grid.largest().with(kLabels, 32).text(), "32.all");
  const StepPlan plan = plan_of(std::vector<int64_t>(10, 8), grid);
  ASSERT_EQ(plan.batches.size(), 3u);
  EXPECT_THAT(plan.batches[0].rows, ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(plan.batches[2].rows, ElementsAre(8, 9));
  EXPECT_EQ(plan.batches[2].shape, 0u);
  EXPECT_EQ(plan.tokens[0], 80);
}

TEST(Batch, AWholeStepFitsWhicheverRowsItHas) {
  std::vector<int64_t> lengths;
  for (int64_t i = 0; i < 50; ++i) lengths.push_back(3 + i * i % 71);
  for (int64_t rows : {1, 3, 8, 50, 60}) {
    const BatchGrid grid = grid_of(lengths, rows, 0, true);
    const std::vector<int64_t> sizes = sizes_of(grid);
    EXPECT_LE(sizes.size(), BatchGrid::kMaxShapes);
    EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
    std::vector<int64_t> longest = lengths;
    std::sort(longest.rbegin(), longest.rend());
    longest.resize(static_cast<size_t>(std::min<int64_t>(rows, 50)));
    EXPECT_EQ(plan_of(longest, grid).batches.size(), 1u) << rows;
    EXPECT_LT(sizes.back() - std::accumulate(longest.begin(), longest.end(), int64_t{0}), 64);
  }
}

// The inputs of one side of a micro-batch, with room for a shape.
struct Side {
  Side(int64_t tokens, int64_t sequences)
      : ids(static_cast<size_t>(tokens)),
        positions(ids.size()),
        labels(ids.size()),
        cu(static_cast<size_t>(sequences) + 1),
        samples(ids.size()) {}
  SequenceInputs inputs() { return {ids, positions, cu, samples}; }
  std::vector<int32_t> ids, positions, labels, cu;
  std::vector<int64_t> samples;
};

// Every token of the rows is where its sequence is, and slack is one sequence more.
void expect_packed(const TokenRows& data, const std::vector<int64_t>& rows, const Side& side,
                   const std::vector<int32_t>& tokens) {
  EXPECT_EQ(side.cu.front(), 0);
  EXPECT_EQ(side.cu.back(), static_cast<int32_t>(side.ids.size()));
  EXPECT_TRUE(std::is_sorted(side.cu.begin(), side.cu.end()));
  for (size_t s = 0; s < rows.size(); ++s) {
    const auto row = data.row(rows[s]);
    const auto begin = static_cast<size_t>(side.cu[s]);
    ASSERT_EQ(static_cast<size_t>(side.cu[s + 1]) - begin, row.size());
    for (size_t i = 0; i < row.size(); ++i) {
      EXPECT_EQ(tokens[begin + i], row[i]);
      EXPECT_EQ(side.positions[begin + i], static_cast<int32_t>(i));
      EXPECT_EQ(side.samples[begin + i], rows[s]);
    }
  }
  for (auto i = static_cast<size_t>(side.cu[rows.size()]); i < side.ids.size(); ++i) {
    EXPECT_EQ(side.labels[i], kIgnoreLabel);
    EXPECT_EQ(side.samples[i], -1);
    EXPECT_EQ(side.positions[i], 0);
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
  const BatchGrid grid = grid_of(lengths, 8);
  const std::vector<int64_t> sizes = sizes_of(grid);
  EXPECT_LE(sizes.size(), BatchGrid::kMaxShapes);
  EXPECT_TRUE(std::is_sorted(sizes.begin(), sizes.end()));
  const StepPlan plan = plan_of(lengths, grid);
  EXPECT_EQ(plan.rows, 64);
  EXPECT_EQ(plan.tokens[0], data.tokens());
  int64_t planned = 0, filled = 0;
  std::multiset<int64_t> seen;
  for (const MicroBatchPlan& p : plan.batches) {
    std::vector<int64_t> rows;
    for (const int32_t i : p.rows) rows.push_back(step_rows[static_cast<size_t>(i)]);
    const BatchShape& shape = grid.shapes[p.shape];
    Side side(shape[kTokens], shape[kSequences]);
    const BatchRows batch{rows, {}};
    ASSERT_TRUE(pack_rows(data, batch, side.inputs()).ok());
    next_labels(data, batch, side.ids, side.labels);
    expect_packed(data, rows, side, side.ids);
    for (size_t s = 0; s < rows.size(); ++s) {
      seen.insert(rows[s]);
      for (auto t = side.cu[s]; t < side.cu[s + 1]; ++t) {
        const auto k = static_cast<size_t>(t);
        EXPECT_EQ(side.labels[k], t + 1 < side.cu[s + 1] ? side.ids[k + 1] : kIgnoreLabel);
      }
    }
    planned += shape[kTokens];
    filled += p.tokens[0];
  }
  EXPECT_EQ(seen.size(), 64u);
  EXPECT_EQ(filled, plan.tokens[0]);
  EXPECT_LT(static_cast<double>(planned), 1.25 * static_cast<double>(plan.tokens[0]));
}

BatchGrid pair_grid(const std::vector<int64_t>& sources, const std::vector<int64_t>& targets,
                    int64_t rows, int64_t remainder = 0, bool whole = false) {
  return choose_grid(
      std::vector{AxisLengths{kSourceTokens, sources}, AxisLengths{kTargetTokens, targets}}, rows,
      remainder, whole);
}

TEST(PairBatch, AWholeStepFitsWhicheverPairsItHas) {
  std::mt19937 random(3);
  std::vector<int64_t> sources, targets;
  for (int i = 0; i < 60; ++i) {
    sources.push_back(1 + static_cast<int64_t>(random() % 300));
    targets.push_back(1 + static_cast<int64_t>(random() % 40));
  }
  const BatchGrid grid = pair_grid(sources, targets, 8, 0, true);
  EXPECT_LE(grid.shapes.size(), BatchGrid::kMaxShapes);
  std::sort(sources.rbegin(), sources.rend());
  std::sort(targets.rbegin(), targets.rend());
  sources.resize(8);
  targets.resize(8);
  StepPlan plan;
  plan_step(std::vector{sources, targets}, grid, plan);
  ASSERT_EQ(plan.batches.size(), 1u);
  EXPECT_EQ(grid.shapes[plan.batches[0].shape], grid.largest());
}

// Source row i holds 1000 i + 1, 1000 i + 2, ...; target row i the same, negated.
TEST(PairBatch, EveryPairIsThereOnceOnBothSides) {
  std::mt19937 random(7);
  TokenRows sources, targets;
  std::vector<int64_t> source_lengths, target_lengths;
  for (int i = 0; i < 200; ++i) {
    std::vector<int32_t> ids(90);
    std::iota(ids.begin(), ids.end(), 1000 * i + 1);
    sources.add(std::span(ids).first(1 + random() % 90));
    for (int32_t& id : ids) id = -id;
    targets.add(std::span(ids).first(1 + random() % 25));
    source_lengths.push_back(sources.length(i));
    target_lengths.push_back(targets.length(i));
  }
  const BatchGrid grid = pair_grid(source_lengths, target_lengths, 8);
  EXPECT_LE(grid.shapes.size(), BatchGrid::kMaxShapes);
  for (const BatchShape& shape : grid.shapes)
    for (size_t a = 0; a < 2; ++a) EXPECT_LE(shape.axes[a].size, grid.largest().axes[a].size);
  StepPlan plan;
  reserve_step(200, grid, plan);
  for (const int64_t start : {int64_t{77}, int64_t{-1}}) {
    plan_step(std::vector{source_lengths, target_lengths}, grid, plan);
    std::vector<int> seen(200, 0);
    for (const MicroBatchPlan& micro : plan.batches) {
      const std::vector<int64_t> rows(micro.rows.begin(), micro.rows.end());
      const BatchShape& shape = grid.shapes[micro.shape];
      Side source(shape[kSourceTokens], shape[kSequences]),
          target(shape[kTargetTokens], shape[kSequences]);
      const BatchRows batch{rows, {}};
      ASSERT_TRUE(pack_rows(sources, batch, source.inputs()).ok());
      ASSERT_TRUE(pack_rows(targets, batch, target.inputs()).ok());
      decoder_inputs(targets, batch, start, target.ids, target.labels);
      std::fill(source.labels.begin(), source.labels.end(), kIgnoreLabel);
      expect_packed(sources, rows, source, source.ids);
      expect_packed(targets, rows, target, target.labels);
      for (size_t s = 0; s < rows.size(); ++s) {
        ++seen[static_cast<size_t>(rows[s])];
        // The decoder reads the labels one later.
        const auto from = static_cast<size_t>(target.cu[s]),
                   to = static_cast<size_t>(target.cu[s + 1]);
        EXPECT_EQ(target.ids[from],
                  start >= 0 ? static_cast<int32_t>(start) : target.labels[to - 1]);
        for (size_t i = from + 1; i < to; ++i) EXPECT_EQ(target.ids[i], target.labels[i - 1]);
      }
    }
    EXPECT_EQ(seen, std::vector<int>(200, 1));
    EXPECT_EQ(plan.tokens[0], sources.tokens());
    EXPECT_EQ(plan.tokens[1], targets.tokens());
  }
}

TEST(PairBatch, TheShapeWithTheLeastSlackIsTaken) {
  const BatchGrid grid = pair_grid({400, 100, 300, 200}, {20, 64, 30, 10}, 4);
  const auto sum = [](const BatchShape& shape) { return shape.axes[0].size + shape.axes[1].size; };
  for (int64_t s = 1; s <= grid.largest().axes[0].size; s += 61)
    for (int64_t t = 1; t <= grid.largest().axes[1].size; t += 13) {
      const BatchShape& got = grid.shapes[grid.index(std::vector<int64_t>{s, t})];
      EXPECT_TRUE(got.axes[0].size >= s && got.axes[1].size >= t);
      for (const BatchShape& b : grid.shapes)
        if (b.axes[0].size >= s && b.axes[1].size >= t) {
          EXPECT_LE(sum(got), sum(b));
        }
    }
}

// Pairs of one length need no slack: a micro-batch is exactly its rows.
TEST(PairBatch, EqualPairsFillTheirShape) {
  const std::vector<int64_t> sources(10, 512), targets(10, 128);
  const BatchGrid grid = pair_grid(sources, targets, 4, 2);
  EXPECT_EQ(grid.largest().text(), "2048+512");
  StepPlan plan;
  plan_step(std::vector{sources, targets}, grid, plan);
  ASSERT_EQ(plan.batches.size(), 3u);
  EXPECT_EQ(grid.shapes[plan.batches[2].shape].text(), "1024+256");
}

// The units of a step and their shape do not depend on the number of ranks.
TEST(Units, AreThoseOfAnyNumberOfRanks) {
  const std::vector<int64_t> lengths = {30, 90, 44, 60, 5, 80, 7};
  const BatchGrid grid = grid_of(lengths, 2, 0, true);
  StepPlan alone;
  plan_units(std::vector<std::vector<int64_t>>{lengths}, grid, 2, {}, alone);
  ASSERT_EQ(alone.batches.size(), 4u);
  EXPECT_THAT(alone.batches[1].rows, ElementsAre(2, 3));
  EXPECT_THAT(alone.batches[3].rows, ElementsAre(6));
  EXPECT_EQ(alone.batches[0].tokens[0], 120);
  for (const MicroBatchPlan& batch : alone.batches) {
    EXPECT_EQ(batch.shape, alone.batches[0].shape);
    EXPECT_LE(batch.tokens[0], grid.shapes[batch.shape][kTokens]);
  }
  for (const int64_t ranks : {2, 3, 5})
    for (Share share{0, ranks}; share.rank < ranks; ++share.rank) {
      StepPlan plan;
      plan_units(std::vector<std::vector<int64_t>>{lengths}, grid, 2, share, plan);
      EXPECT_EQ(plan.rows, 7);
      EXPECT_EQ(plan.tokens, alone.tokens);
      ASSERT_EQ(std::ssize(plan.batches), (4 + ranks - 1) / ranks);
      for (size_t k = 0; k < plan.batches.size(); ++k) {
        const size_t unit = k * static_cast<size_t>(ranks) + static_cast<size_t>(share.rank);
        EXPECT_EQ(plan.batches[k].shape, alone.batches[0].shape);
        EXPECT_EQ(plan.batches[k].rows,
                  unit < 4 ? alone.batches[unit].rows : std::vector<int32_t>());
      }
    }
}

// Rule 4: a rank without rows takes part in the sums with a micro-batch that has none.
TEST(EmptyBatches, HaveTheSmallestShapeAndOneSequenceOfSlack) {
  const std::vector<int64_t> lengths = {3, 9, 4, 6, 5, 8};
  const BatchGrid grid = choose_grid(std::vector<AxisLengths>{{kTokens, lengths}}, 2);
  StepPlan plan;
  plan_step(std::vector<std::vector<int64_t>>{{}}, grid, plan);
  EXPECT_TRUE(plan.batches.empty());
  add_empty_batches(2, 1, grid, plan);
  ASSERT_EQ(plan.batches.size(), 2u);
  EXPECT_EQ(plan.rows, 0);
  const int64_t size = grid.shapes[plan.batches[1].shape][kTokens];
  for (const BatchShape& shape : grid.shapes) EXPECT_LE(size, shape[kTokens]);
  std::vector<int32_t> ids(static_cast<size_t>(size), 9), positions(ids.size()), cu(4);
  ASSERT_TRUE(pack_rows(TokenRows(), {}, {ids, positions, cu, {}}).ok());
  EXPECT_EQ(ids, std::vector<int32_t>(ids.size(), 0));
  const auto all = static_cast<int32_t>(size);
  EXPECT_THAT(cu, ElementsAre(0, all, all, all));
  add_empty_batches(1, 1, grid, plan);  // there are enough
  EXPECT_EQ(plan.batches.size(), 2u);
}

TEST(EmptyBatches, HaveTheSmallestShapeOfSeveralAxes) {
  const std::vector<int64_t> sources = {30, 90, 40, 60, 50, 80}, targets = {3, 9, 4, 6, 5, 8};
  const BatchGrid grid =
      choose_grid(std::vector<AxisLengths>{{kTokens, targets}, {kSourceTokens, sources}}, 2);
  StepPlan plan;
  plan_step(std::vector<std::vector<int64_t>>{{}, {}}, grid, plan);
  add_empty_batches(1, 2, grid, plan);
  const auto size = [](const BatchShape& s) { return s.axes[0].size + s.axes[1].size; };
  int64_t least = size(grid.largest());
  for (const BatchShape& shape : grid.shapes) least = std::min(least, size(shape));
  EXPECT_LT(least, size(grid.largest()));
  EXPECT_EQ(size(grid.shapes[plan.batches[0].shape]), least);
}

TEST(LabelledBatch, HasTypesAndLabels) {
  LabelledRows data;
  data.rows.add(std::vector<int32_t>{1, 7, 7, 2, 8, 2});
  data.rows.add(std::vector<int32_t>{1, 7, 2, 8, 2});
  data.labels.types = {0, 0, 0, 0, 1, 1, 0, 0, 0, 1, 1};
  data.labels.classes = {0, 1};
  const std::vector<int64_t> rows = {1, 0};
  const BatchRows batch{rows, {}};
  std::vector<int32_t> ids(16), positions(16), cu(5), types(16), classes(4);
  ASSERT_TRUE(pack_rows(data.rows, batch, {ids, positions, cu, {}}).ok());
  fill_labels(data.rows, data.labels, batch, {types, classes, {}, {}});
  EXPECT_THAT(cu, ElementsAre(0, 5, 11, 16, 16));
  EXPECT_THAT(types, ElementsAre(0, 0, 0, 1, 1, 0, 0, 0, 0, 1, 1, 0, 0, 0, 0, 0));
  EXPECT_THAT(classes, ElementsAre(1, 0, kIgnoreLabel, kIgnoreLabel));
}

}  // namespace
}  // namespace hone
