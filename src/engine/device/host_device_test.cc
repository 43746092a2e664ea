// The lanes of a device that is the host, and its memory on disk.
#include "engine/device/host_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <numeric>

#include "engine/plan/plan.h"

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

// Every way to read and write a file: past the page cache or not, with io_uring or with threads.
class DiskAccess : public Lanes, public testing::WithParamInterface<std::pair<bool, bool>> {
 protected:
  HostDevice device{host_spec("test", 2), {GetParam().first, GetParam().second}};
};
INSTANTIATE_TEST_SUITE_P(All, DiskAccess,
                         testing::Values(std::pair(true, true), std::pair(true, false),
                                         std::pair(false, true), std::pair(false, false)));

// Values of many sizes, most not a multiple of a disk block, at the places of a plan, and unaligned
// memory: written, read back and overwritten while others are in flight.
TEST_P(DiskAccess, ManyValuesAtOnce) {
  const auto disk = std::move(device.allocate(Space::disk, 40 << 20, folder_).value());
  Queue &write = device.queue(Lane::disk_write), &reads = device.queue(Lane::disk_read);
  struct Value {
    int64_t at, bytes;
  };
  std::vector<Value> values;
  int64_t end = 0;
  for (const int64_t bytes : {4, 4096, 4097, 100'000, 1 << 20, (3 << 20) + 8, 8192, 12, 5'000'000})
    for (int k = 0; k < 3; ++k) {
      values.push_back({end, bytes});
      end += (bytes + kDiskAlignment - 1) / kDiskAlignment * kDiskAlignment;
    }
  std::vector<std::byte> given(static_cast<size_t>(end) + 64), got(given.size());
  for (int round = 0; round < 3; ++round) {
    for (size_t i = 0; i < given.size(); ++i)
      given[i] = static_cast<std::byte>((i * 2654435761u + static_cast<size_t>(round)) >> 13);
    for (const Value& v : values) {
      const Copy whole{disk->data() + v.at, given.data() + 20 + v.at, v.bytes, true};
      write.copy({&whole, 1});
    }
    reads.wait(write, write.record());
    for (const Value& v : values) reads.copy(got.data() + 20 + v.at, disk->data() + v.at, v.bytes);
    device.queue(Lane::compute).wait(reads, reads.record());
    for (const Value& v : values)
      ASSERT_EQ(std::memcmp(got.data() + 20 + v.at, given.data() + 20 + v.at,
                            static_cast<size_t>(v.bytes)),
                0)
          << v.bytes << " bytes in round " << round;
  }
  EXPECT_TRUE(device.check().ok());
}

// Two copies of one place are done one after the other.
TEST_P(DiskAccess, TheOrderOfCopiesThatTouchIsKept) {
  const auto disk = std::move(device.allocate(Space::disk, 4 << 20, folder_).value());
  std::vector<int32_t> a(1 << 20, 1), b(1 << 20, 2), got(1 << 20);
  Queue& lane = device.queue(Lane::disk_write);
  for (int k = 0; k < 5; ++k) {
    lane.copy(disk->data(), a.data(), 4 << 20);
    lane.copy(disk->data(), b.data(), 4 << 20);
    lane.copy(got.data(), disk->data(), 4 << 20);
    lane.finish();
    ASSERT_EQ(got, b);
  }
  lane.copy(disk->data() + 4096, a.data(), 8);
  lane.copy(got.data(), disk->data() + 4096, 16);
  lane.finish();
  got.resize(4);
  EXPECT_EQ(got, (std::vector<int32_t>{1, 1, 2, 2})) << "a part of a disk block";
}

TEST_P(DiskAccess, SaysHowAndWhyNotBetter) {
  EXPECT_EQ(device.disk_access(), "");
  const auto disk = std::move(device.allocate(Space::disk, 4096, folder_).value());
  const auto [direct, uring] = GetParam();
  EXPECT_EQ(device.disk_access().starts_with("through the page cache: direct I/O is switched off"),
            !direct);
  if (!uring) {
    EXPECT_THAT(device.disk_access(), testing::EndsWith(", threads"));
  }
}

TEST_P(DiskAccess, AFileThatEndsEarly) {
  const auto disk = std::move(device.allocate(Space::disk, 8 << 20, folder_).value());
  fs::resize_file(file(), 5'000'000);
  std::vector<std::byte> got(8 << 20);
  Queue& lane = device.queue(Lane::disk_read);
  lane.copy(got.data(), disk->data(), 4 << 20);
  lane.copy(got.data(), disk->data(), 8 << 20);
  lane.copy(got.data(), disk->data(), 4096);
  lane.finish();
  ASSERT_FALSE(device.check().ok());
  EXPECT_STREQ(device.check().error().code(), "H1323");
  EXPECT_THAT(device.check().error().what(), HasSubstr("cannot be read at byte"));
  EXPECT_THAT(device.check().error().what(), HasSubstr("the file is shorter"));
}

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
  EXPECT_EQ(fs::file_size(file()), 3'002'368u);  // whole disk blocks
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

// Truncated bytes read as zeros once a later write has made the file long again.
TEST_F(Lanes, AFileThatAnotherProgramCutsShort) {
  const int64_t bytes = 64 * 4096;
  std::vector<std::byte> some(4096, std::byte{1});
  Queue& lane = device_.queue(Lane::disk_write);
  for (const bool whole_again : {false, true}) {
    const auto disk = on_disk(bytes);
    EXPECT_TRUE(device_.check().ok());
    fs::resize_file(file(), 0);
    if (whole_again) fs::resize_file(file(), static_cast<size_t>(bytes));
    lane.copy(disk->data() + 4096, some.data(), 4096);
    lane.finish();
    const Status failed = device_.check();
    ASSERT_FALSE(failed.ok()) << whole_again;
    EXPECT_STREQ(failed.error().code(), "H1323");
    EXPECT_EQ(failed.error().what(),
              "another program has cut the run's file of 262144 bytes short");
  }
}

}  // namespace
}  // namespace hone
