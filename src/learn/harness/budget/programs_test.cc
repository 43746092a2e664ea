// Shapes and what a search keeps by them.
#include "learn/harness/budget/programs.h"

#include <gtest/gtest.h>

#include "engine/ops/ops.h"

namespace hone {
namespace {

RunShapes rows_of(int64_t rows, int64_t train_bytes = 1000) {
  RunShapes shapes;
  shapes.train.max_rows = rows;
  shapes.budgets.train_bytes = train_bytes;
  return shapes;
}

std::vector<Program> named(const std::string& name) { return {Program(op_table(), name)}; }

TEST(PlanMemo, FindsProgramsByAllOfTheirShapes) {
  PlanMemo memo;
  EXPECT_EQ(memo.find(rows_of(1)), nullptr);
  memo.keep(rows_of(1), named("one")).plan.emplace().io_bytes = 64;
  memo.keep(rows_of(2), named("two"));
  ASSERT_NE(memo.find(rows_of(1)), nullptr);
  EXPECT_EQ(memo.find(rows_of(1))->programs[0].name, "one");
  EXPECT_EQ(memo.find(rows_of(1))->plan->io_bytes, 64);
  EXPECT_EQ(memo.find(rows_of(2))->programs[0].name, "two");
  EXPECT_FALSE(memo.find(rows_of(2))->plan);
  EXPECT_EQ(memo.find(rows_of(1, 500)), nullptr) << "another budget";
}

TEST(PlanMemo, ForgetsTheOldest) {
  PlanMemo memo;
  const auto most = static_cast<int64_t>(PlanMemo::kMost);
  for (int64_t rows = 0; rows <= most; ++rows) memo.keep(rows_of(rows), named("p"));
  EXPECT_EQ(memo.find(rows_of(0)), nullptr);
  for (int64_t rows = 1; rows <= most; ++rows) EXPECT_NE(memo.find(rows_of(rows)), nullptr) << rows;
}

}  // namespace
}  // namespace hone
