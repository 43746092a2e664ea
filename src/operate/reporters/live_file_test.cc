#include "operate/reporters/live_file.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "base/store/temporary_folder.h"

namespace hone {
namespace {

// A new file, and one of a hone that left it open to all.
TEST(LiveFile, IsClosedToOthers) {
  namespace fs = std::filesystem;
  const TemporaryFolder folder;
  const std::string path = folder.path + "/hone_log.jsonl";
  for (int round = 0; round < 2; ++round) {
    LiveFile file = std::move(LiveFile::open(path).value());
    file.add("line\n");
    ASSERT_TRUE(file.close().ok());
    EXPECT_EQ(fs::status(path).permissions() & fs::perms::others_all, fs::perms::none);
    EXPECT_EQ(fs::file_size(path), 5u * (static_cast<size_t>(round) + 1));
    fs::permissions(path, fs::perms::others_read, fs::perm_options::add);
  }
}

}  // namespace
}  // namespace hone
