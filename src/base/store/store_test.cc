#include "base/store/store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <cerrno>
#include <filesystem>

#include "base/store/hash.h"
#include "base/store/store_exercise.h"
#include "base/store/temporary_folder.h"

namespace hone {
namespace {
namespace fs = std::filesystem;

TEST(Store, Files) {
  TemporaryFolder t;
  exercise(file_store(), t.path);
}
TEST(Store, Memory) { exercise(*make_memory_store(), "/m"); }
TEST(Store, ShortWrites) {
  SimulatedDisk disk;
  disk.set_longest_write(3);
  auto store = make_file_store(disk);
  exercise(*store, "/m");
}

TEST(Store, LinksAreRemovedNotFollowed) {
  TemporaryFolder t;
  ASSERT_TRUE(file_store().make_dirs(t.path + "/keep").ok());
  ASSERT_TRUE(file_store().write(t.path + "/keep/x", "x").ok());
  ASSERT_TRUE(file_store().make_dirs(t.path + "/gone").ok());
  fs::create_directory_symlink(t.path + "/keep", t.path + "/gone/link");
  ASSERT_TRUE(file_store().remove_all(t.path + "/gone").ok());
  EXPECT_TRUE(*file_store().exists(t.path + "/keep/x"));
}

TEST(Store, ErrorsSayWhatAndWhatToDo) {
  Error e = file_store().read("/nonexistent/x").error();
  EXPECT_EQ(e.text(),
            "H0101  cannot read '/nonexistent/x': No such file or directory\n"
            "  do   check the path; relative paths start at the current folder");
  EXPECT_STREQ(file_store().read("/tmp").error().code(), "H0104");
}

TEST(Store, AReadPastTheEndIsAnError) {
  auto store = make_memory_store();
  ASSERT_TRUE(store->write("/x", "four").ok());
  EXPECT_STREQ(store->read("/x", 2, 3).error().code(), "H0105");
}

// A file that is open as /dev/stdout is continued; /dev/shm has files of its own.
TEST(Store, OnlyDescriptorsAreContinued) {
  for (const auto& [path, found] :
       {std::pair("/dev/shm/x", "new"), std::pair("/dev/stdout", "oldnew"),
        std::pair("/proc/self/fd/1", "oldnew")}) {
    SimulatedDisk disk;
    auto store = make_file_store(disk);
    ASSERT_TRUE(store->make_dirs(fs::path(path).parent_path()).ok());
    ASSERT_TRUE(store->write(path, "old").ok());
    ASSERT_TRUE(store->write(path, "new").ok());
    EXPECT_EQ(*store->read(path), found) << path;
  }
}

TEST(Store, DiskFullLeavesTheOldFile) {
  SimulatedDisk disk;
  auto store = make_file_store(disk);
  ASSERT_TRUE(store->write("/x", "old").ok());
  disk.set_capacity(10);
  Status s = store->write("/x", "a text that is too long");
  ASSERT_FALSE(s.ok());
  EXPECT_STREQ(s.error().code(), "H0103");
  EXPECT_EQ(*store->read("/x"), "old");
  EXPECT_EQ(store->list("/")->size(), 1u);
}

TEST(Store, AForbiddenPlaceIsNamed) {
  SimulatedDisk disk;
  auto store = make_file_store(disk);
  disk.fail_at(0, EACCES);
  Status s = store->write("/x", "text");
  ASSERT_FALSE(s.ok());
  EXPECT_STREQ(s.error().code(), "H0102");
  EXPECT_EQ(s.error().what(), "cannot write '/x': Permission denied");
}

TEST(Store, EveryOperationMayFail) {
  for (int64_t n = 0;; ++n) {
    SimulatedDisk disk;
    auto store = make_file_store(disk);
    ASSERT_TRUE(store->write("/x", "old").ok());
    int64_t before = disk.operations();
    disk.fail_at(n, EIO);
    Status s = store->write("/x", "new");
    if (n >= disk.operations() - before) break;
    std::string now = *store->read("/x");
    EXPECT_TRUE(!s.ok() || now == "new");
    EXPECT_TRUE(now == "old" || now == "new") << now;
  }
}

// A power loss at each operation of a write leaves the old or the new content, and the new one
// when the write had returned; a folder that is written aside and renamed is there whole or not.
TEST(Store, PowerLossLeavesOldOrNew) {
  const std::string old_text(1000, 'o'), new_text(2000, 'n');
  for (uint64_t seed = 0; seed < 20; ++seed) {
    for (int64_t n = 0;; ++n) {
      SimulatedDisk disk;
      disk.set_longest_write(700);
      auto store = make_file_store(disk);
      ASSERT_TRUE(store->make_dirs("/d").ok());
      ASSERT_TRUE(store->write("/d/x", old_text).ok());
      int64_t before = disk.operations();
      disk.lose_power_at(n);
      bool wrote = store->write("/d/x", new_text).ok();
      bool folder = wrote && store->make_dirs("/tmp").ok() && store->write("/tmp/a", "a").ok() &&
                    store->write("/tmp/b", "b").ok() && store->rename("/tmp", "/done").ok();
      int64_t used = disk.operations() - before;
      disk.power_on(seed * 1000 + static_cast<uint64_t>(n));
      std::string now = *store->read("/d/x");
      EXPECT_TRUE(now == new_text || (!wrote && now == old_text)) << "operation " << n;
      if (*store->exists("/done")) {
        EXPECT_EQ(*store->read("/done/a") + *store->read("/done/b"), "ab");
      } else {
        EXPECT_FALSE(folder);
      }
      if (n >= used) break;
    }
  }
}

// The simulation forgets what was not synced: otherwise the test above would prove nothing.
TEST(Store, SimulatedDiskForgets) {
  int lost = 0;
  for (uint64_t seed = 0; seed < 50; ++seed) {
    SimulatedDisk disk;
    int64_t h = disk.open("/x", Disk::Open::kCreateNew);
    std::vector<std::byte> bytes(100, std::byte{7});
    disk.write(h, bytes);
    disk.lose_power_at(0);
    disk.power_on(seed);
    Disk::Stat s;
    if (disk.stat("/x", s) < 0 || s.bytes < 100) ++lost;
  }
  EXPECT_GT(lost, 25);
}

TEST(Hash, KnownAnswers) {
  auto sha256 = [](std::string text) {
    Sha256 h;
    for (size_t i = 0; i < text.size(); i += 7)
      h.add(std::as_bytes(std::span(text).subspan(i, std::min<size_t>(7, text.size() - i))));
    return h.hex();
  };
  EXPECT_EQ(sha256(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(sha256("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(sha256(std::string(1000000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  for (size_t n : {55, 56, 63, 64, 65, 119, 120})
    EXPECT_EQ(sha256(std::string(n, 'x')).size(), 64u);
  Sha1 h;
  h.add(std::as_bytes(std::span("abc", 3)));
  EXPECT_EQ(h.hex(), "a9993e364706816aba3e25717850c26c9cd0d89d");
  EXPECT_EQ(Md5().hex(), "d41d8cd98f00b204e9800998ecf8427e");
  auto store = make_memory_store();
  ASSERT_TRUE(store->write("/f", "hello\n").ok());
  EXPECT_EQ(*git_blob_id_of_file(*store, "/f"), "ce013625030ba8dba906f756967f9e9ca394464a");
}

}  // namespace
}  // namespace hone
