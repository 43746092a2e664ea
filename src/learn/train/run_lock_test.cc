// One holder at a time, and what a killed process left goes.
#include "learn/train/run_lock.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "base/core/json.h"
#include "base/store/fake_buckets.h"
#include "base/store/places/places.h"
#include "base/store/temporary_folder.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

TEST(RunLock, OneAtATime) {
  const TemporaryFolder folder;
  {
    Result<RunLock> first = RunLock::take(folder.path);
    ASSERT_TRUE(first.ok());
    Result<RunLock> second = RunLock::take(folder.path);
    ASSERT_FALSE(second.ok());
    EXPECT_STREQ(second.error().code(), err::kOutputFolderTaken.id);
  }
  EXPECT_TRUE(RunLock::take(folder.path).ok());
}

TEST(RunLock, RemovesUnfinishedFiles) {
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path;
  for (const char* name : {".model.safetensors.77-0.hone-tmp", "model.safetensors", ".keep"})
    std::ofstream(folder / name) << "x";
  EXPECT_TRUE(RunLock::take(temporary.path).ok());
  EXPECT_FALSE(fs::exists(folder / ".model.safetensors.77-0.hone-tmp"));
  EXPECT_TRUE(fs::exists(folder / "model.safetensors"));
  EXPECT_TRUE(fs::exists(folder / ".keep"));
}

// Locks in a bucket. A clock that says what it was asked to wait, and does something then.
class WaitingClock : public FakeClock {
 public:
  std::function<void()> while_waiting = [] {};
  void sleep(double seconds) override {
    FakeClock::sleep(seconds);
    while_waiting();
  }
};

class BucketLock : public ::testing::Test {
 protected:
  void SetUp() override {
    static FakeBuckets* fake = [] {
      auto* f = new FakeBuckets;
      return f->start({"--bucket", "gs://locks"}) ? f : nullptr;
    }();
    if (!fake) GTEST_SKIP() << "there is no python3";
    folder_ = fmt::format("gs://locks/{}",
                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void write(const LockOwner& o, int beat) {
    const Json j{{"host", o.host}, {"boot", o.boot}, {"space", o.space}, {"start", o.start},
                 {"pid", o.pid},   {"name", o.name}, {"beat", beat}};
    ASSERT_TRUE(places_.write(folder_ + "/.hone_lock", j.dump()).ok());
  }
  Places places_;
  std::string folder_;
  WaitingClock clock_;
};

TEST_F(BucketLock, OneAtATimeAndNothingIsLeft) {
  {
    Result<RunLock> first = RunLock::take(folder_, clock_);
    ASSERT_TRUE(first.ok()) << first.error().text();
    EXPECT_TRUE(first->check().ok());
    Result<RunLock> second = RunLock::take(folder_, clock_);
    ASSERT_FALSE(second.ok());
    EXPECT_STREQ(second.error().code(), err::kOutputFolderTaken.id);
    EXPECT_EQ(clock_.seconds(), 0);  // it is of this machine, so nobody waits
  }
  EXPECT_FALSE(*places_.exists(folder_ + "/.hone_lock"));
}

TEST_F(BucketLock, AProcessThatIsGoneFromThisMachineIsNotWaitedFor) {
  LockOwner gone = LockOwner::self();
  gone.pid = 1 << 30;
  EXPECT_TRUE(gone.is_gone());
  EXPECT_FALSE(LockOwner::self().is_gone());
  write(gone, 3);
  EXPECT_TRUE(RunLock::take(folder_, clock_).ok());
  EXPECT_EQ(clock_.seconds(), 0);
}

TEST_F(BucketLock, AnotherMachineIsWaitedFor) {
  LockOwner other = LockOwner::self();
  other.host = "elsewhere";
  write(other, 3);
  EXPECT_TRUE(RunLock::take(folder_, clock_).ok());
  EXPECT_GE(clock_.seconds(), 75);
  write(other, 4);
  int beat = 4;
  clock_.while_waiting = [&] { write(other, ++beat); };
  const double before = clock_.seconds();
  Result<RunLock> again = RunLock::take(folder_, clock_);
  ASSERT_FALSE(again.ok());
  EXPECT_NE(again.error().text().find("elsewhere"), std::string::npos);
  EXPECT_LT(clock_.seconds() - before, 75);
}

}  // namespace
}  // namespace hone
