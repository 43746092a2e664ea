#include "base/store/new_folders.h"

#include <gtest/gtest.h>

#include "base/store/store.h"
#include "base/store/temporary_folder.h"

namespace hone {
namespace {

TEST(NewFolders, EmptyOnesThatAreNewGo) {
  const TemporaryFolder in;
  for (const std::string end : {"", "/"}) {
    {
      const NewFolders made(in.path + "/a/b" + end);
      ASSERT_TRUE(file_store().make_dirs(in.path + "/a/b").ok());
    }
    EXPECT_FALSE(path_exists(in.path + "/a"));
  }
  { const NewFolders never_made(in.path + "/a/b"); }
  EXPECT_TRUE(is_folder(in.path));
}

TEST(NewFolders, OnesWithFilesStayAndSoDoOlderOnes) {
  const TemporaryFolder in;
  ASSERT_TRUE(file_store().make_dirs(in.path + "/old").ok());
  { const NewFolders made(in.path + "/old"); }
  EXPECT_TRUE(is_folder(in.path + "/old"));
  {
    const NewFolders made(in.path + "/a/b/c");
    ASSERT_TRUE(file_store().make_dirs(in.path + "/a/b/c").ok());
    ASSERT_TRUE(file_store().write(in.path + "/a/results.json", "{}").ok());
  }
  EXPECT_FALSE(path_exists(in.path + "/a/b"));
  EXPECT_TRUE(is_file(in.path + "/a/results.json"));
  // A file in its place stays.
  {
    const NewFolders made(in.path + "/file");
    ASSERT_TRUE(file_store().write(in.path + "/file", "").ok());
  }
  EXPECT_TRUE(is_file(in.path + "/file"));
  { const NewFolders of_a_bucket("gs://bucket/folder"); }
}

}  // namespace
}  // namespace hone
