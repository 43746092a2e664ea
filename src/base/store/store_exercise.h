// For tests: checks the guarantees that every Store gives (base/store/store.h).
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/store/store.h"

namespace hone {

// Writes a file with create_new().
inline Status write_new(Store& s, const std::string& path, std::string_view text) {
  const std::unique_ptr<Writer> w = HONE_TRY(s.create_new(path));
  HONE_TRY(w->write(text));
  return w->commit();
}

inline void exercise(Store& s, const std::string& root) {
  ASSERT_TRUE(s.make_dirs(root + "/a/b").ok());
  ASSERT_TRUE(s.make_dirs(root + "/a/b/").ok());
  ASSERT_TRUE(s.write(root + "/a/b/x", "hello world").ok());
  EXPECT_EQ(*s.read(root + "/a/b/x"), "hello world");
  EXPECT_EQ(*s.read(root + "/a/b/x", 6, 5), "world");
  EXPECT_EQ(*s.bytes(root + "/a/b/x"), 11);
  EXPECT_STREQ(s.read(root + "/a/b/x", 6, 6).error().code(), "H0105");
  ASSERT_TRUE(s.write(root + "/a/b/x", "new").ok());
  EXPECT_EQ(*s.read(root + "/a/b/x"), "new");

  {
    auto unfinished = s.create(root + "/a/y").value();
    ASSERT_TRUE(unfinished->write("half").ok());
    EXPECT_FALSE(*s.exists(root + "/a/y"));
    EXPECT_EQ(s.list(root + "/a")->size(), 1u);  // the temporary file is hidden
  }
  EXPECT_FALSE(*s.exists(root + "/a/y"));
  for (const char* piece : {"1\n", "2\n"}) {
    auto log = s.append(root + "/a/log").value();
    ASSERT_TRUE(log->write(piece).ok());
    ASSERT_TRUE(log->commit().ok());
  }
  EXPECT_EQ(*s.read(root + "/a/log"), "1\n2\n");

  auto entries = *s.list(root + "/a");
  ASSERT_EQ(entries.size(), 2u);
  EXPECT_EQ(entries[0].name, "b");
  EXPECT_TRUE(entries[0].folder);
  EXPECT_EQ(entries[1].bytes, 4);
  EXPECT_TRUE(s.info(root + "/a")->folder);

  EXPECT_STREQ(write_new(s, root + "/a/log", "3").error().code(), "H0118");
  EXPECT_TRUE(write_new(s, root + "/a/new", "3").ok());
  EXPECT_EQ(*s.read(root + "/a/new"), "3");

  ASSERT_TRUE(s.copy(root + "/a/log", root + "/a/new").ok());
  EXPECT_EQ(*s.read(root + "/a/new"), "1\n2\n");

  ASSERT_TRUE(s.rename(root + "/a/b", root + "/c/").ok());
  EXPECT_EQ(*s.read(root + "/c/x"), "new");
  EXPECT_STREQ(s.remove(root + "/c").error().code(), "H0104");  // not empty
  EXPECT_STREQ(s.remove(root + "/none").error().code(), "H0101");
  EXPECT_STREQ(s.read(root + "/none").error().code(), "H0101");
  EXPECT_STREQ(s.list(root + "/none").error().code(), "H0101");
  if (s.renames_folders_at_once(root)) {  // folders exist by themselves
    EXPECT_STREQ(s.make_dirs(root + "/a/log/z").error().code(), "H0101");
  }
  ASSERT_TRUE(s.remove_all(root + "/c").ok());
  EXPECT_FALSE(*s.exists(root + "/c"));
  ASSERT_TRUE(s.remove_all(root + "/c").ok());
}

}  // namespace hone
