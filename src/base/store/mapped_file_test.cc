#include "base/store/mapped_file.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <thread>

#include "base/store/temporary_folder.h"

namespace hone {
namespace {

using ::testing::HasSubstr;
namespace fs = std::filesystem;

constexpr size_t kBytes = 100'000;

class Mapped : public ::testing::Test {
 protected:
  Mapped() { write(std::string(kBytes, 'x')); }
  void write(const std::string& bytes) { std::ofstream(path_, std::ios::binary) << bytes; }
  std::shared_ptr<const MappedFile> open() {
    auto file = MappedFile::open(path_);
    EXPECT_TRUE(file.ok()) << file.error().text();
    return std::move(*file);
  }
  static std::string error(const Status& status) {
    return status.ok() ? "" : status.error().text();
  }
  static int64_t sum(std::string_view bytes) {
    int64_t n = 0;
    for (const char c : bytes) n += c;
    return n;
  }

  TemporaryFolder folder_;
  std::string path_ = folder_.path + "/file";
};

TEST_F(Mapped, HoldsTheBytesOfTheFile) {
  EXPECT_EQ(open()->bytes(), std::string(kBytes, 'x'));
  EXPECT_EQ(error(open()->check_unchanged()), "");
  write("");
  EXPECT_EQ(open()->bytes(), "");
  EXPECT_EQ(error(open()->check_unchanged()), "");
  EXPECT_THAT(MappedFile::open(path_ + "2").error().text(), HasSubstr("H0101"));
  EXPECT_THAT(MappedFile::open(folder_.path).error().text(), HasSubstr("H0104"));
}

TEST_F(Mapped, BytesThatAreGoneAreZerosAndAnError) {
  const auto file = open();
  fs::resize_file(path_, 5000);
  EXPECT_FALSE(file->lost());
  EXPECT_EQ(sum(file->bytes().substr(0, 5000)), 5000 * 'x');
  EXPECT_EQ(sum(file->bytes()), 5000 * 'x');
  EXPECT_TRUE(file->lost());
  EXPECT_EQ(error(file->check_unchanged()),
            fmt::format("H0117  '{}' has 5000 bytes now and had 100000 when reading it began\n"
                        "  do   put the file back as it was, or make it again, and type the same "
                        "command; training continues from its last checkpoint",
                        path_));
}

// Size and time are what they were: as with a disk or server that lost the bytes.
TEST_F(Mapped, ALostReadIsNotForgotten) {
  struct stat was {};
  ASSERT_EQ(::stat(path_.c_str(), &was), 0);
  const auto file = open();
  fs::resize_file(path_, 0);
  EXPECT_EQ(sum(file->bytes()), 0);
  write(std::string(kBytes, 'x'));
  const timespec times[2] = {was.st_atim, was.st_mtim};
  ASSERT_EQ(::utimensat(AT_FDCWD, path_.c_str(), times, 0), 0);
  EXPECT_THAT(error(file->check_unchanged()), HasSubstr("its disk or server lost it"));
  EXPECT_EQ(error(open()->check_unchanged()), "");
}

TEST_F(Mapped, AFileThatIsWrittenIntoIsAnError) {
  const auto file = open();
  write(std::string(kBytes, 'y'));
  fs::last_write_time(path_, fs::last_write_time(path_) + std::chrono::seconds(1));
  EXPECT_THAT(error(file->check_unchanged()), HasSubstr("was written to while it was being read"));
}

TEST_F(Mapped, AFileThatIsReplacedOrDeletedIsStillRead) {
  const auto file = open();
  std::ofstream(path_ + "2") << "another";
  fs::rename(path_ + "2", path_);
  EXPECT_EQ(sum(file->bytes()), kBytes * 'x');
  EXPECT_EQ(error(file->check_unchanged()), "");
  fs::remove(path_);
  EXPECT_EQ(error(file->check_unchanged()), "");
}

TEST_F(Mapped, ManyThreadsMayFindTheBytesGone) {
  std::vector<std::shared_ptr<const MappedFile>> files;
  for (int i = 0; i < 5; ++i) files.push_back(open());
  fs::resize_file(path_, 0);
  std::vector<std::thread> threads;
  std::atomic<int64_t> sums = 0;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (size_t i = kBytes; i-- > 0;)
        for (const auto& file : files) sums += file->bytes()[(i + 25'000 * t) % kBytes];
    });
  for (std::thread& t : threads) t.join();
  EXPECT_EQ(sums, 0);
  for (const auto& file : files) EXPECT_TRUE(file->lost());
}

using MappedDeathTest = Mapped;
TEST_F(MappedDeathTest, OtherMappingsStillEndTheProcess) {
  const auto file = open();
  const int fd = ::open(path_.c_str(), O_RDONLY);
  void* other = ::mmap(nullptr, kBytes, PROT_READ, MAP_SHARED, fd, 0);
  ::close(fd);
  ASSERT_NE(other, MAP_FAILED);
  fs::resize_file(path_, 0);
  EXPECT_DEATH(static_cast<void>(*static_cast<volatile const char*>(other)), "");
  EXPECT_DEATH(::raise(SIGBUS), "");
  ::munmap(other, kBytes);
}

}  // namespace
}  // namespace hone
