#include "base/store/work_items.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>

#include "base/store/errors.h"
#include "base/store/store.h"
#include "base/store/temporary_folder.h"

namespace hone {
namespace {

using ::testing::ElementsAre;

class WorkItemsTest : public ::testing::Test {
 protected:
  std::vector<std::string> names() const { return names_in(folder_.path); }
  TemporaryFolder folder_;
  FakeClock clock_;
};

TEST_F(WorkItemsTest, EachIsTakenOnce) {
  WorkItems a(folder_.path, 3, 60, clock_), b(folder_.path, 3, 60, clock_);
  std::set<int64_t> taken = {**a.take(), **b.take()};
  EXPECT_EQ(taken.size(), 2u);
  ASSERT_TRUE(a.commit("x").ok());
  taken.insert(**a.take());
  EXPECT_EQ(taken.size(), 3u);
  ASSERT_TRUE(a.commit("y").ok());
  EXPECT_EQ(*a.take(), std::nullopt);
  EXPECT_EQ(a.done(), 2);
  ASSERT_TRUE(b.commit("z").ok());
  EXPECT_EQ(*a.take(), std::nullopt);
  EXPECT_TRUE(a.all_done());
  EXPECT_THAT(names(), ElementsAre("000000.done", "000001.done", "000002.done"));
  EXPECT_EQ(std::set<std::string>({*a.result(0), *a.result(1), *a.result(2)}),
            std::set<std::string>({"x", "y", "z"}));
}

TEST_F(WorkItemsTest, AnItemGivenBackIsFree) {
  WorkItems a(folder_.path, 1, 60, clock_), b(folder_.path, 1, 60, clock_);
  ASSERT_EQ(*a.take(), 0);
  EXPECT_EQ(*b.take(), std::nullopt);
  a.give_back();
  EXPECT_EQ(*b.take(), 0);
}

// The process that was killed left a lease.
TEST_F(WorkItemsTest, TheItemOfAnEndedProcessIsFreeAtOnce) {
  if (const pid_t child = ::fork(); child == 0) {
    WorkItems a(folder_.path, 1, 60, clock_);
    ::_exit(a.take().ok() ? 0 : 1);
  } else {
    int status = 1;
    ::waitpid(child, &status, 0);
    ASSERT_EQ(status, 0);
  }
  EXPECT_THAT(names(), ElementsAre("000000.lease-001"));
  WorkItems b(folder_.path, 1, 60, clock_);
  EXPECT_EQ(*b.take(), 0);
  EXPECT_THAT(names(), ElementsAre("000000.lease-001", "000000.lease-002"));
}

TEST_F(WorkItemsTest, ALeaseOfAnotherHostIsStaleWhenNobodyWritesIt) {
  const std::string lease = folder_.path + "/000000.lease-001";
  ASSERT_TRUE(file_store().write(lease, R"({"host":"far","pid":1,"space":"","start":"1"})").ok());
  WorkItems b(folder_.path, 1, 60, clock_);
  EXPECT_EQ(*b.take(), std::nullopt);
  clock_.advance(59);
  EXPECT_EQ(*b.take(), std::nullopt);
  ASSERT_TRUE(file_store().write(lease, R"({"host":"far","pid":1,"space":"","start":"1"} 1)").ok());
  clock_.advance(30);
  EXPECT_EQ(*b.take(), std::nullopt);  // it was written again
  clock_.advance(60);
  EXPECT_EQ(*b.take(), 0);
}

// One that was paused finishes an item that another has finished: the first result stays.
TEST_F(WorkItemsTest, ALateResultIsIgnored) {
  WorkItems a(folder_.path, 1, 0.0, clock_), b(folder_.path, 1, 0.0, clock_);
  ASSERT_EQ(*a.take(), 0);
  ASSERT_EQ(*b.take(), 0);
  ASSERT_TRUE(b.commit("first").ok());
  ASSERT_TRUE(a.commit("second").ok());
  EXPECT_EQ(*a.result(0), "first");
}

// One of many threads that create the same file wins.
TEST_F(WorkItemsTest, ANewFileHasOneWriter) {
  for (int round = 0; round < 20; ++round) {
    std::atomic<int> won = 0, lost = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&, i] {
        auto writer = file_store().create_new(fmt::format("{}/{}", folder_.path, round));
        if (!writer.ok()) {
          ++lost;
          return;
        }
        EXPECT_TRUE((*writer)->write(std::to_string(i)).ok());
        const Status committed = (*writer)->commit();
        ++(committed.ok() ? won : lost);
        EXPECT_TRUE(committed.ok() || committed.error().is(err::kLostRace));
      });
    for (std::thread& t : threads) t.join();
    EXPECT_EQ(won, 1);
    EXPECT_EQ(lost, 7);
  }
}

}  // namespace
}  // namespace hone
