// Fake trees of both versions, as containers show them.
#include "base/core/cgroup.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <map>

namespace hone {
namespace {

namespace fs = std::filesystem;

class Trees : public testing::Test {
 protected:
  void SetUp() override { root_ = testing::TempDir() + "/hone_cgroup_" + name(); }
  void TearDown() override { fs::remove_all(root_); }
  static std::string name() {
    return testing::UnitTest::GetInstance()->current_test_info()->name();
  }
  Cgroup read(const std::string& groups, const std::map<std::string, std::string>& files) {
    put("/proc/self/cgroup", groups);
    for (const auto& [path, text] : files) put("/sys/fs/cgroup" + path, text);
    return read_cgroup(root_);
  }

 private:
  void put(const std::string& path, const std::string& text) {
    const fs::path at = root_ + path;
    fs::create_directories(at.parent_path());
    std::ofstream(at) << text;
  }
  std::string root_;
};

TEST_F(Trees, NothingIsNoLimit) {
  const Cgroup none = read_cgroup("/there/is/no/such/folder");
  EXPECT_FALSE(none.memory_limit_bytes || none.memory_free_bytes || none.cpus);
  const Cgroup max =
      read("0::/\n",
           {{"/memory.max", "max\n"}, {"/memory.current", "123\n"}, {"/cpu.max", "max 100000\n"}});
  EXPECT_FALSE(max.memory_limit_bytes || max.memory_free_bytes || max.cpus);
}

// The limit of one level may be the least, and what is left of another.
TEST_F(Trees, Version2TakesTheLeastOfAllLevels) {
  const Cgroup g = read("0::/pod/run\n", {{"/pod/run/memory.max", "4000\n"},
                                          {"/pod/run/memory.current", "1000\n"},
                                          {"/pod/run/memory.stat", "anon 900\nactive_file 0\n"},
                                          {"/pod/run/cpu.max", "max 100000\n"},
                                          {"/pod/memory.max", "9000\n"},
                                          {"/pod/memory.current", "8500\n"},
                                          {"/pod/memory.stat",
                                           "anon 7000\nfile 1500\nactive_file 300\n"
                                           "inactive_file 200\nunevictable 9\n"},
                                          {"/pod/cpu.max", "250000 100000\n"},
                                          {"/cpu.max", "400000 100000\n"}});
  EXPECT_EQ(g.memory_limit_bytes, 4000);
  EXPECT_EQ(g.memory_free_bytes, 9000 - 8500 + 300 + 200);
  EXPECT_EQ(g.cpus, 2.5);
}

TEST_F(Trees, Version2ObeysWhatSlowsDown) {
  const Cgroup g = read(
      "0::/a\n",
      {{"/a/memory.max", "max\n"}, {"/a/memory.high", "5000\n"}, {"/a/memory.current", "6000\n"}});
  EXPECT_EQ(g.memory_limit_bytes, 5000);
  EXPECT_EQ(g.memory_free_bytes, 0) << "never below zero";
}

// A container that sees its own part of the tree has the host's path in /proc/self/cgroup.
TEST_F(Trees, APathFromTheHostIsTheRoot) {
  for (const std::string path : {"/docker/0123", "/../../kubepods/x"}) {
    const Cgroup g = read(
        "0::" + path + "\n",
        {{"/memory.max", "700\n"}, {"/memory.current", "100\n"}, {"/cpu.max", "50000 100000\n"}});
    EXPECT_EQ(g.memory_limit_bytes, 700) << path;
    EXPECT_EQ(g.memory_free_bytes, 600) << path;
    EXPECT_EQ(g.cpus, 0.5) << path;
  }
}

TEST_F(Trees, Version1WalksEachController) {
  const Cgroup g =
      read("12:cpuset:/\n4:cpu,cpuacct:/batch/job\n3:memory:/batch/job\n1:name=systemd:/other\n",
           {{"/memory/batch/job/memory.limit_in_bytes", "9223372036854771712\n"},
            {"/memory/batch/job/memory.usage_in_bytes", "10\n"},
            {"/memory/batch/memory.limit_in_bytes", "2000\n"},
            {"/memory/batch/memory.usage_in_bytes", "1500\n"},
            {"/memory/batch/memory.stat",
             "active_file 1\ninactive_file 2\ntotal_active_file 100\ntotal_inactive_file 50\n"},
            {"/cpu,cpuacct/batch/job/cpu.cfs_quota_us", "-1\n"},
            {"/cpu,cpuacct/batch/job/cpu.cfs_period_us", "100000\n"},
            {"/cpu,cpuacct/batch/cpu.cfs_quota_us", "300000\n"},
            {"/cpu,cpuacct/batch/cpu.cfs_period_us", "100000\n"},
            {"/cpu,cpuacct/cpu.cfs_quota_us", "800000\n"},
            {"/cpu,cpuacct/cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(g.memory_limit_bytes, 2000);
  EXPECT_EQ(g.memory_free_bytes, 2000 - 1500 + 150);
  EXPECT_EQ(g.cpus, 3);
}

// Systems with both have version 2 in a folder beside the controllers of version 1.
TEST_F(Trees, BothVersionsAtOnce) {
  const Cgroup g = read("5:cpu:/a\n0::/a\n", {{"/unified/a/memory.max", "800\n"},
                                              {"/unified/a/memory.current", "300\n"},
                                              {"/cpu/a/cpu.cfs_quota_us", "150000\n"},
                                              {"/cpu/a/cpu.cfs_period_us", "100000\n"}});
  EXPECT_EQ(g.memory_limit_bytes, 800);
  EXPECT_EQ(g.memory_free_bytes, 500);
  EXPECT_EQ(g.cpus, 1.5);
}

TEST_F(Trees, AnUnknownUsageLeavesTheLimitAlone) {
  const Cgroup g = read("0::/a\n", {{"/a/memory.max", "800\n"}});
  EXPECT_EQ(g.memory_limit_bytes, 800);
  EXPECT_FALSE(g.memory_free_bytes) << "the usage is not known";
}

}  // namespace
}  // namespace hone
