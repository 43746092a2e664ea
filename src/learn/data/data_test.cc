// Token rows, order, steps and batches; goldens from Transformers and datasets
// (tools/golden_data.py).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "learn/data/batch.h"
#include "learn/data/causal_reader.h"
#include "learn/data/files.h"
#include "learn/data/order.h"
#include "learn/data/steps.h"

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

TEST(CausalBuilder, BlocksAreThoseOfGroupTexts) {
  for (const auto& g : golden("blocks.json")) {
    CausalOptions options;
    options.block_size = g["block"];
    TokenRows rows;
    CausalBuilder builder(options);
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

TEST(CausalBuilder, PackingKeepsRowsApart) {
  CausalOptions options;
  options.grouping = Grouping::kRows;
  options.block_size = 4;
  options.eos = 0;
  TokenRows rows;
  CausalBuilder builder(options);
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
  const CausalCounts& c = builder.state().counts;
  EXPECT_EQ(c.rows_too_short, 1);
  EXPECT_EQ(c.rows_cut, 2);
  EXPECT_EQ(c.eos_appended, 2);
  EXPECT_EQ(c.tokens_dropped, 2);
  EXPECT_EQ(c.tokens_read + c.eos_appended - c.tokens_dropped, c.tokens_kept);
}

TEST(ReadCausal, TokenisesTextAndTakesIds) {
  CausalOptions options;
  options.block_size = 3;
  auto rows = std::move(
      open_rows_of_bytes(
          "a.jsonl", "{\"text\":\"ab\"}\n{\"text\":[7,8]}\n{\"text\":null}\n{\"text\":\"cd\"}\n")
          .value());
  auto data = read_causal(std::move(rows), options, bytes_as_tokens);
  ASSERT_TRUE(data.ok()) << data.error().text();
  ASSERT_EQ(data->rows.size(), 2);
  EXPECT_THAT(data->rows.row(0), ElementsAre('a', 'b', 7));
  EXPECT_THAT(data->rows.row(1), ElementsAre(8, 'c', 'd'));
  EXPECT_EQ(data->counts.rows_read, 4);

  auto again = std::move(open_rows_of_bytes("a.txt", "abcd\nefgh\nijkl\n").value());
  options.first_row = 1;
  options.end_row = 2;
  EXPECT_THAT(read_causal(std::move(again), options, bytes_as_tokens)->rows.row(0),
              ElementsAre('e', 'f', 'g'));
}

TEST(CausalReader, GoesOnFromAnyPlace) {
  std::string text;
  for (int i = 0; i < 3300; ++i) text += fmt::format("{}{}\n", i, std::string(i % 5, 'x'));
  for (const Grouping grouping : {Grouping::kBlocks, Grouping::kRows}) {
    CausalOptions options;
    options.grouping = grouping;
    options.block_size = 64;
    options.eos = 0;
    options.first_row = 7;
    options.end_row = 3250;
    const auto open = [&] {
      return CausalReader(std::move(open_rows_of_bytes("a.txt", text).value()), options,
                          bytes_as_tokens);
    };
    CausalReader whole = open();
    TokenRows all;
    std::vector<std::pair<std::string, int64_t>> places;
    do {
      places.emplace_back(dump_json(whole.place().to_json()), all.size());
    } while (*whole.read(all));
    ASSERT_GE(places.size(), 4u);
    for (const auto& [place, first] : places) {
      CausalReader again = open();
      ASSERT_TRUE(again.go_to(*place_from_json(*parse_json(place, "p"), "p")).ok());
      TokenRows rest;
      while (*again.read(rest)) continue;
      ASSERT_EQ(rest.size(), all.size() - first);
      for (int64_t i = 0; i < rest.size(); ++i)
        ASSERT_TRUE(std::ranges::equal(rest.row(i), all.row(first + i)));
      EXPECT_EQ(again.counts().tokens_read, whole.counts().tokens_read);
      EXPECT_EQ(again.counts().tokens_dropped, whole.counts().tokens_dropped);
    }
  }
  EXPECT_THAT(place_from_json(Json::object(), "p").error().text(), HasSubstr("H2102"));
}

TEST(ReadCausal, ARowThatIsCutKeepsItsLastTokensAndSaysWhatWasDropped) {
  CausalOptions options;
  options.grouping = Grouping::kRows;
  options.block_size = 4;
  options.last_kept = 1;
  const auto data = read_causal(
      std::move(open_rows_of_bytes("a.txt", "abcdefg\nxy\n", {.keep_linebreaks = false}).value()),
      options, bytes_as_tokens);
  ASSERT_TRUE(data.ok()) << data.error().text();
  EXPECT_TRUE(std::ranges::equal(data->rows.row(0), std::vector<int32_t>{'a', 'b', 'c', 'g'}));
  EXPECT_TRUE(std::ranges::equal(data->rows.row(1), std::vector<int32_t>{'x', 'y'}));
  EXPECT_EQ(data->counts.tokens_dropped, 3);
  EXPECT_EQ(data->counts.rows_cut, 1);
}

TEST(ReadCausal, Errors) {
  CausalOptions options;
  auto few = std::move(open_rows_of_bytes("a.txt", "abc\n").value());
  EXPECT_EQ(read_causal(std::move(few), options, bytes_as_tokens).error().text(),
            "H2114  4 tokens in 1 row do not fill one block of 1024\n"
            "  do   use --block_size 4 or less, or --packing, or give more text");
  auto none = std::move(open_rows_of_bytes("a.txt", "").value());
  EXPECT_THAT(read_causal(std::move(none), options, bytes_as_tokens).error().text(),
              HasSubstr("H2113"));
  auto number =
      std::move(open_rows_of_bytes("a.jsonl", "{\"text\":\"x\"}\n{\"text\":1}\n").value());
  EXPECT_EQ(read_causal(std::move(number), options, bytes_as_tokens).error().text(),
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

}  // namespace
}  // namespace hone
