// The lanes of a device that is the host, and its memory on disk.
#include "engine/device/host_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <numeric>

namespace hone {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class Lanes : public testing::Test {
 protected:
  Lanes() : folder_(fs::path(testing::TempDir()) / fmt::format("lanes.{}", getpid())) {}
  ~Lanes() override { fs::remove_all(folder_); }

  std::unique_ptr<Memory> on_disk(int64_t bytes) {
    return std::move(device_.allocate(Space::disk, bytes, folder_).value());
  }
  std::vector<int32_t> read(const std::byte* from, size_t count) {
    std::vector<int32_t> values(count, -1);
    device_.queue(Lane::compute).copy(values.data(), from, std::ssize(values) * 4);
    return values;
  }
  // The file of the only block on disk, which has no name, by the name that the system gives it.
  std::string file() const {
    for (const auto& e : fs::directory_iterator("/proc/self/fd")) {
      std::error_code gone;
      const std::string at = fs::read_symlink(e.path(), gone).string();
      if (at.starts_with(folder_.string())) return e.path();
    }
    return "";
  }

  const fs::path folder_;
  HostDevice device_{host_spec("test", 2)};
};

// More than a queue can hold at once.
TEST_F(Lanes, WorkOfOneLaneIsDoneInItsOrder) {
  std::vector<int64_t> values(2000, 0);
  values[0] = 7;
  Queue& lane = device_.queue(Lane::load);
  EXPECT_EQ(&lane, &device_.queue(Lane::load));
  EXPECT_NE(&lane, &device_.queue(Lane::store));
  for (size_t i = 1; i < values.size(); ++i) lane.copy(&values[i], &values[i - 1], 8);
  device_.queue(Lane::compute).wait(lane, lane.record());
  EXPECT_EQ(values, std::vector<int64_t>(2000, 7));
  lane.zero(values.data(), 16);
  lane.finish();
  EXPECT_EQ(values[1], 0);
  EXPECT_EQ(values[2], 7);
}

TEST_F(Lanes, OneLaneWaitsForAnother) {
  std::vector<int32_t> values(1 << 20), got(values.size());
  std::iota(values.begin(), values.end(), 1);
  const auto disk = on_disk(std::ssize(values) * 4);
  Queue &write = device_.queue(Lane::disk_write), &read = device_.queue(Lane::disk_read);
  for (int round = 0; round < 20; ++round) {
    write.copy(disk->data(), values.data(), disk->bytes());
    read.wait(write, write.record());
    read.copy(got.data(), disk->data(), disk->bytes());
    device_.queue(Lane::compute).wait(read, read.record());
    ASSERT_EQ(got, values);
    ++values[static_cast<size_t>(round)];
  }
}

TEST_F(Lanes, BlocksOnDiskAreReadAndWrittenByAddress) {
  const auto a = on_disk(100'000), b = on_disk(400'000);
  EXPECT_EQ(read(a->data(), 25'000), std::vector<int32_t>(25'000, 0));
  std::vector<int32_t> values(50'000);
  std::iota(values.begin(), values.end(), 0);
  Queue& queue = device_.queue(Lane::compute);
  queue.copy(b->data() + 4, values.data(), 200'000);
  queue.copy(b->data() + 200'004, b->data() + 4, 199'996);  // more than one piece at a time
  queue.copy(a->data() + 99'996, b->data() + 40, 4);
  EXPECT_EQ(read(b->data() + 4, 50'000), values);
  EXPECT_EQ(read(b->data() + 399'996, 1), std::vector<int32_t>{49'998});
  EXPECT_EQ(read(a->data() + 99'996, 1), std::vector<int32_t>{9});
  queue.zero(b->data() + 40, 200'000);
  EXPECT_EQ(read(b->data() + 36, 3), (std::vector<int32_t>{8, 0, 0}));
  EXPECT_EQ(read(b->data() + 200'036, 2), (std::vector<int32_t>{0, 9}));
  EXPECT_TRUE(device_.check().ok());
}

TEST_F(Lanes, AFileHasItsSizeAtOnceAndNoName) {
  const auto disk = on_disk(3'000'000);
  EXPECT_TRUE(fs::is_empty(folder_));
  EXPECT_EQ(fs::file_size(file()), 3'000'000u);
}

TEST_F(Lanes, AFileThatTheDiskRefuses) {
  Result<std::unique_ptr<Memory>> huge = device_.allocate(Space::disk, int64_t{1} << 60, folder_);
  ASSERT_FALSE(huge.ok());
  EXPECT_STREQ(huge.error().code(), "H1322");
  EXPECT_THAT(huge.error().text(),
              HasSubstr("the disk refuses a file of 1152921504606846976 bytes"));
  Result<std::unique_ptr<Memory>> nowhere = device_.allocate(Space::disk, 10, "/dev/null/folder");
  ASSERT_FALSE(nowhere.ok());
  EXPECT_STREQ(nowhere.error().code(), "H1322");
}

TEST_F(Lanes, ADiskThatFailsIsOneError) {
  const auto disk = on_disk(8192);
  fs::resize_file(file(), 4000);
  std::vector<std::byte> got(8192);
  Queue& lane = device_.queue(Lane::disk_read);
  lane.copy(got.data(), disk->data(), 4000);
  lane.finish();
  EXPECT_TRUE(device_.check().ok());
  lane.copy(got.data(), disk->data(), 8192);
  lane.copy(got.data(), disk->data() + 4096, 10);
  lane.finish();
  const Status failed = device_.check();
  ASSERT_FALSE(failed.ok());
  EXPECT_STREQ(failed.error().code(), "H1323");
  EXPECT_EQ(failed.error().what(),
            "4192 bytes cannot be read at byte 4000 of the run's file: the file is shorter");
  EXPECT_EQ(failed.error().where(), std::vector<std::string>{folder_});
}

}  // namespace
}  // namespace hone
