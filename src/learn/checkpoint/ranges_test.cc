#include "learn/checkpoint/ranges.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/store/temporary_folder.h"
#include "learn/checkpoint/parts.h"
#include "learn/checkpoint/safetensors/safetensors.h"

namespace hone {
namespace {

std::vector<float> count_up(size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 0.0f);
  return values;
}

// Rows [rows.begin, rows.end) of a tensor of rows of 3.
TensorData rows_of_three(const std::vector<float>& values, const RowRange& rows) {
  return {range_name("w", rows),
          {DType::f32, {rows.count(), 3}},
          std::as_bytes(std::span(values).subspan(static_cast<size_t>(rows.begin) * 3,
                                                  static_cast<size_t>(rows.count()) * 3)),
          {}};
}

// Writes the rows of each rank, with a tensor of rank 0, and opens them.
Result<std::unique_ptr<WeightSource>> written_by_ranks(const std::string& folder,
                                                       const std::vector<RowRange>& ranks) {
  const std::vector<float> values = count_up(21), bias{7};
  std::vector<PartFile> parts;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    std::vector<TensorData> tensors{rows_of_three(values, ranks[rank])};
    if (rank == 0)
      tensors.push_back({"bias", {DType::f32, {1}}, std::as_bytes(std::span(bias)), {}});
    const Share share{static_cast<int64_t>(rank), std::ssize(ranks)};
    parts.push_back(
        PartFile::from_json(HONE_TRY(write_part(folder, "optimizer", share, tensors)).to_json()));
  }
  HONE_TRY(finish_parts(folder, "optimizer", parts));
  std::vector<std::unique_ptr<WeightSource>> sources;
  const std::string file = folder + "/optimizer.safetensors";
  sources.push_back(HONE_TRY(ranks.size() == 1 ? open_safetensors(file)
                                               : open_safetensors_index(file + ".index.json")));
  return join_ranges(std::move(sources));
}

// Rule 14: what ranks of one world wrote is read by those of any other.
TEST(Ranges, AnyRowsAreReadFromTheRangesOfAnyWorld) {
  const std::vector<std::vector<RowRange>> worlds = {
      {{0, 7}}, {{0, 3}, {3, 7}}, {{0, 1}, {1, 2}, {2, 7}}};
  for (const std::vector<RowRange>& world : worlds) {
    const TemporaryFolder folder;
    const auto source = written_by_ranks(folder.path, world);
    ASSERT_TRUE(source.ok()) << source.error().text();
    ASSERT_NE((*source)->find("w"), nullptr);
    EXPECT_EQ((*source)->find("w")->type.text(), "f32[7,3]");
    for (int64_t first = 0; first < 7; ++first)
      for (int64_t end = first + 1; end <= 7; ++end) {
        std::vector<float> rows(static_cast<size_t>(end - first) * 3);
        const Status read = (*source)->read_range("w", DType::f32, first * 3,
                                                  std::as_writable_bytes(std::span(rows)));
        ASSERT_TRUE(read.ok()) << read.error().text();
        EXPECT_EQ(rows.front(), static_cast<float>(first * 3));
        EXPECT_EQ(rows.back(), static_cast<float>(end * 3 - 1));
      }
    std::vector<float> bias(1);
    ASSERT_TRUE((*source)->read("bias", DType::f32, std::as_writable_bytes(std::span(bias))).ok());
    EXPECT_EQ(bias[0], 7);
  }
}

// A rank has rows of some columns, one after another.
TensorData columns_of_six(const std::vector<float>& values, std::vector<float>& kept,
                          const RowRange& rows, const std::vector<RowRange>& columns) {
  for (int64_t row = rows.begin; row < rows.end; ++row)
    for (const RowRange& r : columns)
      for (int64_t column = r.begin; column < r.end; ++column)
        kept.push_back(values[static_cast<size_t>(row * 6 + column)]);
  const int64_t width = std::ssize(kept) / rows.count();
  return {range_name("w", rows, columns),
          {DType::f32, {rows.count(), width}},
          std::as_bytes(std::span(kept)),
          {}};
}

using Blocks = std::vector<std::pair<RowRange, std::vector<RowRange>>>;  // of one rank each

Result<std::unique_ptr<WeightSource>> written_in_blocks(const std::string& folder,
                                                        const Blocks& blocks) {
  const std::vector<float> values = count_up(24);  // 4 rows
  std::vector<PartFile> parts;
  for (size_t rank = 0; rank < blocks.size(); ++rank) {
    std::vector<float> kept;
    const TensorData t = columns_of_six(values, kept, blocks[rank].first, blocks[rank].second);
    parts.push_back(HONE_TRY(write_part(
        folder, "optimizer", {static_cast<int64_t>(rank), std::ssize(blocks)}, std::span(&t, 1))));
  }
  HONE_TRY(finish_parts(folder, "optimizer", parts));
  std::vector<std::unique_ptr<WeightSource>> sources;
  sources.push_back(HONE_TRY(open_safetensors_index(folder + "/optimizer.safetensors.index.json")));
  return join_ranges(std::move(sources));
}

// Rule 14 for a mesh: some ranks have rows, others columns of them.
TEST(Ranges, AnyElementsAreReadFromBlocksOfColumns) {
  const TemporaryFolder folder;
  const auto source = written_in_blocks(folder.path, {{{0, 3}, {{0, 1}, {3, 5}}},
                                                      {{0, 3}, {{1, 3}, {5, 6}}},
                                                      {{3, 4}, {{0, 3}}},
                                                      {{3, 4}, {{3, 6}}}});
  ASSERT_TRUE(source.ok()) << source.error().text();
  EXPECT_EQ((*source)->find("w")->type.text(), "f32[4,6]");
  for (int64_t first = 0; first < 24; ++first)
    for (int64_t end = first + 1; end <= 24; ++end) {
      std::vector<float> some(static_cast<size_t>(end - first));
      const Status read =
          (*source)->read_range("w", DType::f32, first, std::as_writable_bytes(std::span(some)));
      ASSERT_TRUE(read.ok()) << read.error().text();
      for (int64_t i = first; i < end; ++i)
        ASSERT_EQ(some[static_cast<size_t>(i - first)], static_cast<float>(i));
    }
}

TEST(Ranges, ColumnsThatNobodyOrTwoRanksWroteAreRefused) {
  const std::vector<std::pair<Blocks, const char*>> wrong = {
      {{{{0, 4}, {{0, 3}}}, {{0, 4}, {{4, 6}}}}, "lacks column 3"},
      {{{{0, 4}, {{0, 3}}}, {{0, 4}, {{2, 6}}}}, "lacks column 2, or has it twice"},
      {{{{0, 2}, {{0, 3}}}, {{0, 2}, {{3, 6}}}, {{3, 4}, {{0, 6}}}}, "lacks row 2"}};
  for (const auto& [blocks, why] : wrong) {
    const TemporaryFolder folder;
    const auto source = written_in_blocks(folder.path, blocks);
    ASSERT_FALSE(source.ok()) << why;
    EXPECT_THAT(source.error().text(), testing::HasSubstr(why));
  }
}

TEST(Ranges, RowsThatNobodyOrTwoRanksWroteAreRefused) {
  const std::vector<std::vector<RowRange>> worlds = {{{0, 3}, {4, 7}}, {{0, 4}, {3, 7}}, {{1, 7}}};
  for (const std::vector<RowRange>& world : worlds) {
    const TemporaryFolder folder;
    const auto source = written_by_ranks(folder.path, world);
    ASSERT_FALSE(source.ok());
    EXPECT_STREQ(source.error().code(), "H2204");
  }
}

TEST(Ranges, NamesThatAreNoRangesStay) {
  const TemporaryFolder folder;
  const std::vector<float> values = count_up(3);
  std::vector<TensorData> tensors;
  for (const char* name : {"a[1]", "b[2:1]", "c[x:2]", "d[0:3"})
    tensors.push_back({name, {DType::f32, {3}}, std::as_bytes(std::span(values)), {}});
  ASSERT_TRUE(save_safetensors(folder.path, "model", tensors).ok());
  std::vector<std::unique_ptr<WeightSource>> sources;
  sources.push_back(open_safetensors(folder.path + "/model.safetensors").value());
  const auto joined = join_ranges(std::move(sources)).value();
  for (const TensorData& t : tensors) EXPECT_NE(joined->find(t.name), nullptr) << t.name;
}

TEST(Parts, TensorsThatAllHoldAreDividedByBytes) {
  const std::vector<int64_t> bytes{100, 1, 1, 50, 50, 100, 2};
  for (int64_t ranks = 1; ranks <= 9; ++ranks) {
    std::vector<size_t> all;
    for (int64_t rank = 0; rank < ranks; ++rank)
      for (const size_t i : divided_tensors(bytes, {rank, ranks})) all.push_back(i);
    EXPECT_EQ(all, (std::vector<size_t>{0, 1, 2, 3, 4, 5, 6})) << ranks;
  }
  EXPECT_EQ(divided_tensors(bytes, {0, 2}), (std::vector<size_t>{0, 1, 2, 3}));
  EXPECT_EQ(divided_tensors(std::vector<int64_t>{0}, {0, 2}), std::vector<size_t>{0});
}

}  // namespace
}  // namespace hone
