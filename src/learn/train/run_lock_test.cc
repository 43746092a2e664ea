// One holder at a time, and what a killed process left goes.
#include "learn/train/run_lock.h"

#include <gtest/gtest.h>

#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/core/json.h"
#include "base/store/fake_buckets.h"
#include "base/store/new_folders.h"
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

TEST(RunLock, SeesThatItsFolderIsGone) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path + "/out";
  const Result<RunLock> lock = RunLock::take(folder);
  EXPECT_TRUE(lock->check().ok());
  fs::rename(folder, folder + "2");
  EXPECT_STREQ(lock->check().error().code(), err::kOutputFolderGone.id);
  fs::create_directory(folder);
  EXPECT_NE(lock->check().error().text().find("was replaced by another"), std::string::npos);
  fs::remove(folder);
  fs::rename(folder + "2", folder);
  EXPECT_TRUE(lock->check().ok());
}

// Commands that start at once in a new folder: each that is refused, or fails, removes the folder if it is empty. The one
// that has the lock keeps the folder.
TEST(RunLock, KeepsItsFolderFromOthersThatWereRefused) {
  const TemporaryFolder temporary;
  const std::string folder = temporary.path + "/out";
  std::atomic<int> taken = 0, gone = 0;
  const auto start_often = [&] {
    for (int i = 0; i < 2000; ++i) {
      const NewFolders made(folder);
      const Result<RunLock> lock = RunLock::take(folder);
      taken += lock.ok();
      gone += lock.ok() && !lock->check().ok();
    }
  };
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back(start_often);
  for (std::thread& t : threads) t.join();
  EXPECT_GT(taken, 0);
  EXPECT_EQ(gone, 0);
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
  static FakeBuckets* server() {
    static FakeBuckets* fake = [] {
      auto* f = new FakeBuckets;
      return f->start(
                 {"--bucket", "gs://locks", "--bucket", "s3://locks", "--bucket", "az://locks"})
                 ? f
                 : nullptr;
    }();
    return fake;
  }
  void SetUp() override {
    if (!server()) GTEST_SKIP() << "there is no python3";
    folder_ = fmt::format("gs://locks/{}",
                          ::testing::UnitTest::GetInstance()->current_test_info()->name());
  }
  void write(const LockOwner& o, int beat) {
    const Json j{{"host", o.host}, {"boot", o.boot}, {"space", o.space}, {"start", o.start},
                 {"pid", o.pid},   {"name", o.name}, {"beat", beat}};
    write(j);
  }
  // A lock that beats may be written between the two requests of this.
  void write(const Json& j) {
    ASSERT_TRUE(comes_true([&] { return places_.write(folder_ + "/.hone_lock", j.dump()).ok(); }));
  }
  // Waits until `done`, for as long as a slow machine may take.
  static bool comes_true(const std::function<bool()>& done) {
    for (int i = 0; i < 6000; ++i) {
      if (done()) return true;
      system_clock().sleep(0.01);
    }
    return false;
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

TEST_F(BucketLock, IsLostWhenItsObjectIsAnothersOrGone) {
  const std::string path = folder_ + "/.hone_lock";
  LockOwner other = LockOwner::self();
  other.host = "elsewhere";
  {
    Result<RunLock> lock = RunLock::take(folder_, clock_, 0.01);
    ASSERT_TRUE(lock.ok()) << lock.error().text();
    write(other, 3);
    EXPECT_TRUE(comes_true([&] { return !lock->check().ok(); }));
    EXPECT_STREQ(lock->check().error().code(), err::kOutputFolderTaken.id);
  }
  EXPECT_NE(places_.read(path)->find("elsewhere"), std::string::npos);
  ASSERT_TRUE(places_.remove(path).ok());
  {
    Result<RunLock> lock = RunLock::take(folder_, clock_, 0.01);
    ASSERT_TRUE(lock.ok()) << lock.error().text();
    // S3's answer to a condition on an object that no longer exists.
    server()->fault("kind=status&code=404&count=1&method=POST&match=upload");
    EXPECT_TRUE(comes_true([&] { return !lock->check().ok(); }));
  }
}

TEST_F(BucketLock, IsKeptWhenTheAnswersToAnEarlierWriteWereLost) {
  const std::string path = folder_ + "/.hone_lock";
  const auto beat = [&] {
    const Result<std::string> text = places_.read(path);  // it may be replaced meanwhile
    return text.ok() ? (*parse_json(*text, "lock"))["beat"].get<int64_t>() : 0;
  };
  Result<RunLock> lock = RunLock::take(folder_, clock_, 0.01);
  ASSERT_TRUE(lock.ok()) << lock.error().text();
  EXPECT_TRUE(comes_true([&] { return beat() > 1; }));
  Json own;
  EXPECT_TRUE(comes_true([&] {
    const Result<std::string> text = places_.read(path);
    if (text.ok()) own = *parse_json(*text, "lock");
    return text.ok();
  }));
  own["beat"] = -1;
  write(own);  // as if the process itself had, and did not know it
  EXPECT_TRUE(comes_true([&] { return beat() > 1; }));
  EXPECT_TRUE(lock->check().ok());
}

TEST_F(BucketLock, AProcessThatWasTakenOverDoesNotRemoveTheNewLock) {
  LockOwner other = LockOwner::self();
  other.host = "elsewhere";
  for (const char* scheme : {"gs", "s3", "az"}) {
    folder_ = fmt::format("{}://locks/paused", scheme);
    {
      Result<RunLock> lock = RunLock::take(folder_, clock_, 1e6);
      ASSERT_TRUE(lock.ok()) << lock.error().text();
      write(other, 3);
    }
    const Result<std::string> left = places_.read(folder_ + "/.hone_lock");
    ASSERT_TRUE(left.ok()) << left.error().text();
    EXPECT_NE(left->find("elsewhere"), std::string::npos);
  }
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
