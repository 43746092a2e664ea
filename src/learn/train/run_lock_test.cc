// One holder at a time, and what a killed process left goes.
#include "learn/train/run_lock.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "learn/train/errors.h"

namespace hone {
namespace {

namespace fs = std::filesystem;

TEST(RunLock, OneAtATime) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("hone_lock_test_{}", ::getpid());
  fs::remove_all(folder);
  {
    Result<RunLock> first = RunLock::take(folder.string());
    ASSERT_TRUE(first.ok());
    Result<RunLock> second = RunLock::take(folder.string());
    ASSERT_FALSE(second.ok());
    EXPECT_STREQ(second.error().code(), err::kOutputFolderTaken.id);
  }
  EXPECT_TRUE(RunLock::take(folder.string()).ok());
  fs::remove_all(folder);
}

TEST(RunLock, RemovesUnfinishedFiles) {
  const fs::path folder = fs::temp_directory_path() / fmt::format("hone_lock_test2_{}", ::getpid());
  fs::create_directories(folder);
  for (const char* name : {".model.safetensors.77-0.hone-tmp", "model.safetensors", ".keep"})
    std::ofstream(folder / name) << "x";
  EXPECT_TRUE(RunLock::take(folder.string()).ok());
  EXPECT_FALSE(fs::exists(folder / ".model.safetensors.77-0.hone-tmp"));
  EXPECT_TRUE(fs::exists(folder / "model.safetensors"));
  EXPECT_TRUE(fs::exists(folder / ".keep"));
  fs::remove_all(folder);
}

}  // namespace
}  // namespace hone
