#include "engine/comm/collectives.h"

#include <gtest/gtest.h>

#include <atomic>

#include "engine/comm/collectives_test.h"
#include "engine/comm/loopback.h"

namespace hone {
namespace {

TEST(Collectives, EqualPlainLoopsBitForBitOnOneToFiveRanks) {
  for (int n = 1; n <= 5; ++n) {
    LoopbackWorld world(n);
    std::vector<std::string> wrong(static_cast<size_t>(n));
    const Status done = world.run([&](Group& g) -> Status {
      wrong[static_cast<size_t>(g.rank())] = CollectiveCheck(g).all();
      return Ok{};
    });
    ASSERT_TRUE(done.ok()) << done.error().text();
    EXPECT_EQ(wrong, std::vector<std::string>(static_cast<size_t>(n))) << n << " ranks";
  }
}

TEST(Collectives, PoolsDoNotChangeBits) {
  LoopbackWorld world(2);
  std::vector<std::string> wrong(2);
  (void)world.run([&](Group& g) -> Status {
    ThreadPool pool(2);
    wrong[static_cast<size_t>(g.rank())] =
        CollectiveCheck(g, &pool).all_reduce(DType::f32, {{500, 700}, {1, 3}}, true);
    return Ok{};
  });
  EXPECT_EQ(wrong, std::vector<std::string>(2));
}

TEST(Collectives, PartsCoverEveryRowOnce) {
  for (const int64_t rows : {0, 1, 4, 5, 1000003})
    for (int n = 1; n <= 7; ++n) {
      int64_t next = 0;
      for (int r = 0; r < n; ++r) {
        const Range part = rank_range(rows, r, n);
        EXPECT_EQ(part.begin, next);
        EXPECT_LE(part.end - part.begin, rows / n + 1);
        next = part.end;
      }
      EXPECT_EQ(next, rows);
    }
}

// The traffic of a ring, in one hop: (n-1)/n of the bucket for each of reduce_scatter and
// all_gather.
TEST(Collectives, SendNoMoreThanARing) {
  constexpr int kRanks = 4;
  constexpr int64_t kRows = 64, kRow = 100, kBucket = kRows * kRow * 4;
  const ScatterTensor scattered{kRows, kRow * 4};
  const GatherTensor gathered{kRows, kRow * 4};
  const ReduceTensor reduced{kRows * kRow};
  for (int r = 0; r < kRanks; ++r) {
    const auto scatter = bytes_of_reduce_scatter({&scattered, 1}, r, kRanks);
    EXPECT_EQ(scatter.sent, kBucket * 3 / 4);
    EXPECT_EQ(scatter.workspace, kBucket * 3 / 4);
    EXPECT_EQ(bytes_of_all_gather({&gathered, 1}, r, kRanks).sent, kBucket * 3 / 4);
    const auto all = bytes_of_all_reduce(DType::f32, {&reduced, 1}, r, kRanks);
    EXPECT_EQ(all.sent, 2 * (kBucket * 3 / 4));
    EXPECT_EQ(all.received, 2 * (kBucket * 3 / 4));
    EXPECT_EQ(all.workspace, kBucket * 3 / 4);
  }
}

TEST(Collectives, AFewNumbersAreSummedInRankOrder) {
  LoopbackWorld world(3);
  const double terms[] = {1e16, 1, 1};  // from the left: 1e16
  std::vector<std::vector<double>> sums(3);
  (void)world.run([&](Group& g) -> Status {
    std::vector<double>& values = sums[static_cast<size_t>(g.rank())];
    values = {terms[g.rank()], static_cast<double>(g.rank())};
    return sum_over_ranks(g, values);
  });
  for (const auto& values : sums) EXPECT_EQ(values, (std::vector<double>{1e16, 3}));
}

TEST(Collectives, NoRankLeavesABarrierBeforeAllHaveCome) {
  LoopbackWorld world(4);
  std::atomic<int> arrived{0};
  const Status done = world.run([&](Group& g) -> Status {
    for (int turn = 1; turn <= 50; ++turn) {
      ++arrived;
      HONE_TRY(barrier(g));
      EXPECT_GE(arrived.load(), 4 * turn);
      HONE_TRY(barrier(g));
    }
    return Ok{};
  });
  EXPECT_TRUE(done.ok());
}

TEST(Collectives, ASmallWorkspaceIsABug) {
  LoopbackWorld world(2);
  std::vector<float> x(5000);
  auto* at = reinterpret_cast<std::byte*>(x.data());
  const ReduceTensor tensor{5000, at, at};
  EXPECT_THROW((void)all_reduce(world.group(0), DType::f32, {&tensor, 1}, {}, nullptr), Bug);
}

}  // namespace
}  // namespace hone
