// Test support: groups of an engine. Ranks are threads of the test's process, or processes of their own.
#pragma once

#include <gtest/gtest.h>

#include <csignal>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/core/child.h"
#include "base/core/clock.h"
#include "base/core/text.h"
#include "base/ranks/errors.h"
#include "engine/comm/collectives_test.h"
#include "engine/comm/engines/engines.h"
#include "engine/comm/errors.h"

namespace hone {

// Skips the calling test if the engine cannot be used.
#define HONE_NEEDS_ENGINE(ENGINE)                               \
  if (const Status loaded = engine_loads(ENGINE); !loaded.ok()) \
  GTEST_SKIP() << loaded.error().text()
inline Status engine_loads(std::string_view name) {
  for (const CommEngine& e : all_comm_engine())
    if (e.name == name) return e.loads();
  return Error(err::kCommEngine, fmt::format("there is no engine {}", name));
}

// A world of `ranks` ranks: all on one host, or each on a host of its own if `hosts` is true.
inline World test_world(int rank, int ranks, bool hosts = false) {
  World w;
  w.rank = rank;
  w.ranks = ranks;
  w.local_rank = hosts ? 0 : rank;
  w.local_ranks = hosts ? 1 : ranks;
  w.host = hosts ? fmt::format("worker-{}", rank) : "here";
  return w;
}

// Calls fn(rank) on a thread for each rank. Returns for each rank "" or the text of its error.
inline std::vector<std::string> on_ranks(int ranks, const std::function<Status(int rank)>& fn) {
  std::vector<std::string> texts(static_cast<size_t>(ranks));
  std::vector<std::thread> threads;
  for (int r = 0; r < ranks; ++r)
    threads.emplace_back([&, r] {
      const Status done = fn(r);
      if (!done.ok()) texts[static_cast<size_t>(r)] = done.error().text();
    });
  for (std::thread& t : threads) t.join();
  return texts;
}

// KeyValues that are files in a folder, for ranks that are processes.
class FolderKeys : public KeyValues {
 public:
  explicit FolderKeys(std::string folder) : folder_(std::move(folder)) {}
  Status set(const std::string& key, std::string_view value) override;
  Result<std::string> get(const std::string& key, double patience_s) override;

 private:
  std::string file_of(std::string key) const {
    for (char& c : key)
      if (c == '/') c = '.';
    return folder_ + "/" + key;
  }
  std::string folder_;
};

inline Status FolderKeys::set(const std::string& key, std::string_view value) {
  const std::string file = file_of(key), half = file + ".half";
  std::FILE* f = std::fopen(half.c_str(), "wb");
  if (f == nullptr) return Error(err::kCommEngine, "cannot write " + half);
  std::fwrite(value.data(), 1, value.size(), f);
  std::fclose(f);
  std::rename(half.c_str(), file.c_str());
  return Ok{};
}

inline Result<std::string> FolderKeys::get(const std::string& key, double patience_s) {
  for (double waited = 0; waited < patience_s; waited += 0.005) {
    Result<std::string> text = read_file(file_of(key));
    if (text.ok()) return text;
    system_clock().sleep(0.005);
  }
  return Error(err::kRanksMissing, "nobody set " + key);
}

// The test that runs in a process started by Processes, as one rank: it checks all collectives. In the role "dies" rank
// 1 then kills itself. The other ranks expect the error of a lost rank: rank 1, or a rank that noticed the loss first.
inline void run_rank_of_process() {
  const std::string role = environment("HONE_TEST_ROLE");
  if (role.empty()) GTEST_SKIP() << "a process of other tests";
  const World world = read_world().value();
  FolderKeys keys(environment("HONE_TEST_KEYS"));
  const auto group = make_group(environment("HONE_TEST_ENGINE"), world, keys);
  ASSERT_TRUE(group.ok()) << group.error().text();
  ASSERT_EQ(CollectiveCheck(**group).all(), "");
  ASSERT_TRUE(barrier(**group).ok());
  if (role != "dies") return;
  if (world.rank == 1) ::kill(::getpid(), SIGKILL);
  const Status done = barrier(**group);
  ASSERT_FALSE(done.ok());
  EXPECT_TRUE(done.error().is(err::kPeerLost)) << done.error().text();
}

// Starts this test program again, once for each rank.
class Processes {
 public:
  Processes()
      : folder_(std::filesystem::temp_directory_path() / fmt::format("hone_ranks_{}", ::getpid())) {
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  ~Processes() { std::filesystem::remove_all(folder_); }
  Processes(const Processes&) = delete;

  // `before`: a command and its arguments that start the program, such as mpirun; may be empty. world: nullopt if that
  // command gives the ranks. Returns the process id.
  pid_t start(std::vector<std::string> before, const std::string& engine, const std::string& role,
              const std::optional<World>& world) const {
    ChildSpec spec{.command = std::move(before),
                   .environment = {{"HONE_TEST_ENGINE", engine},
                                   {"HONE_TEST_ROLE", role},
                                   {"HONE_TEST_KEYS", folder_.string()},
                                   {"MASTER_ADDR", "127.0.0.1"},
                                   {"MASTER_PORT", "1"}}};
    spec.command.push_back(std::filesystem::read_symlink("/proc/self/exe").string());
    spec.command.emplace_back("--gtest_filter=RankOfAProcess.Runs");
    spec.command.emplace_back("--gtest_brief=1");
    if (engine == "mpi")
      spec.environment["ASAN_OPTIONS"] = "detect_leaks=0";  // MPI never frees some memory
    if (world)
      for (const auto& [name, value] : world_variables(*world)) spec.environment[name] = value;
    return spawn(spec).value().pid;
  }

 private:
  std::filesystem::path folder_;
};

}  // namespace hone
