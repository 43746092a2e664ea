// One holder at a time, and what a killed process left goes.
#include "learn/train/run_lock.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

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

}  // namespace
}  // namespace hone
