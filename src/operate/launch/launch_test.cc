#include "operate/launch/launch.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <thread>

#include "base/core/clock.h"
#include "base/core/process_id.h"
#include "base/core/signals.h"
#include "base/core/text.h"
#include "base/ranks/errors.h"
#include "operate/launch/child_lines.h"
#include "operate/launch/cores.h"
#include "operate/launch/errors.h"
#include "operate/launch/gpus.h"
#include "operate/launch/local_ranks.h"
#include "operate/launch/out_of_memory.h"

namespace hone {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class LaunchTest : public ::testing::Test {
 protected:
  LaunchTest() { std::filesystem::create_directories(folder_); }
  ~LaunchTest() override {
    std::filesystem::remove_all(folder_);
    request_stop(0);
  }
  std::string path(const std::string& name) const { return folder_ + "/" + name; }
  std::string content(const std::string& name) const {
    const auto text = read_file(path(name));
    return text.ok() ? *text : "";
  }
  void write(const std::string& name, const std::string& text) const {
    std::filesystem::create_directories(std::filesystem::path(path(name)).parent_path());
    std::ofstream(path(name)) << text;
  }
  // A shell command as ranks; in it $D is a folder of the test.
  LaunchRequest shell(int ranks, const std::string& script) const {
    return {.command = {"sh", "-c", fmt::format("D={}; {}", folder_, script)},
            .ranks = ranks,
            .local_ranks = ranks,
            .token = "t"};
  }
  static Result<LaunchEnd> launch(const LaunchRequest& request) {
    return rank_launcher_named("local")->run(request);
  }
  // Waits for a file of a child.
  bool appears(const std::string& name) const {
    for (const double end = system_clock().seconds() + 10; system_clock().seconds() < end;) {
      if (std::filesystem::exists(path(name))) return true;
      system_clock().sleep(0.01);
    }
    return false;
  }

 private:
  const std::string folder_ = testing::TempDir() + "/launch_" + std::to_string(::getpid());
};

TEST_F(LaunchTest, EachRankHasItsVariables) {
  const LaunchEnd end =
      launch(shell(3,
                   "echo $WORLD_SIZE $LOCAL_RANK $LOCAL_WORLD_SIZE $HONE_RANKS_SERVED "
                   "$HONE_RANKS_TOKEN $MASTER_ADDR > $D/$RANK; echo $MASTER_PORT > $D/p$RANK"))
          .value();
  EXPECT_EQ(end.status, 0);
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(content("0"), "3 0 3 1 t 127.0.0.1\n");
  EXPECT_EQ(content("2"), "3 2 3 1 t 127.0.0.1\n");
  EXPECT_EQ(content("p0"), content("p2"));  // chosen by the kernel
  EXPECT_NE(content("p0"), "0\n");
}

// Rule 7: the kernel chooses ports.
TEST_F(LaunchTest, rule_7_TwoRunsAtTheSameTimeHavePortsOfTheirOwn) {
  std::vector<std::thread> runs;
  for (const char* name : {"a", "b"})
    runs.emplace_back([this, name] {
      LaunchRequest r = shell(1, fmt::format("echo $MASTER_PORT > $D/{0}; "
                                             "while ! test -e $D/b -a -e $D/a; do sleep 0.02; done",
                                             name));
      EXPECT_EQ(launch(r)->status, 0);
    });
  for (std::thread& run : runs) run.join();
  EXPECT_NE(content("a"), content("b"));
}

TEST_F(LaunchTest, rule_7_APortThatIsTakenIsNamed) {
  const auto other = ControlServer::open({.state = {.ranks = 1}}).value();
  LaunchRequest r = shell(1, "true");
  r.port = other->port();
  EXPECT_TRUE(launch(r).error().is(err::kControlPort));
}

TEST_F(LaunchTest, TheFirstErrorOfTheFirstRankIsTheEnd) {
  const LaunchEnd end =
      launch(shell(3, "test $RANK = 1 && exit 7; trap 'exit 9' TERM; sleep 0.3; exit 8")).value();
  EXPECT_EQ(end.status, 7);
  ASSERT_TRUE(end.failure);
  EXPECT_EQ(end.failure->rank, 1);
  EXPECT_TRUE(end.failure->error.is(err::kRankEnded));
  EXPECT_THAT(end.failure->sentence(), HasSubstr("rank 1 on host "));
  EXPECT_THAT(end.failure->sentence(), HasSubstr("H3182"));
  EXPECT_THAT(end.failure->error.what(), HasSubstr("ended with status 7"));
}

// The program of hone reports its errors to the descriptor HONE_ERROR_FD.
TEST_F(LaunchTest, AnErrorOfHoneIsPassedOnWithItsCode) {
  write("error", R"({"error": "no disk", "code": "H0107", "where": [], "todo": ""})"
                 "\n");
  const LaunchEnd end = launch(shell(2,
                                     "test $RANK = 0 && exec sleep 0.2; "
                                     "cat $D/error >> /dev/fd/$HONE_ERROR_FD; exit 1"))
                            .value();
  ASSERT_TRUE(end.failure);
  EXPECT_THAT(end.failure->sentence(), HasSubstr("rank 1 on host "));
  EXPECT_THAT(end.failure->sentence(),
              HasSubstr("failed first before the first step: H0107 no disk"));
}

// Zombies hold GPUs: nothing that a rank started outlives it.
TEST_F(LaunchTest, AKilledRankEndsTheOthersAndTheirProcesses) {
  const LaunchRequest r = shell(2,
                                "test $RANK = 1 && while ! test -e $D/left; do sleep 0.02; done; "
                                "test $RANK = 1 && kill -9 $$; trap '' TERM; sleep 1000 & "
                                "echo $! > $D/l; mv $D/l $D/left; while :; do sleep 0.05; done");
  const LaunchEnd end =
      run_group(local_ranks(r, 1).value(), nullptr, {.follow_s = 0.1, .kill_s = 0.2}).value();
  EXPECT_EQ(end.status, 128 + SIGKILL);
  EXPECT_THAT(end.failure->error.what(), HasSubstr("was ended by signal 9 (Killed)"));
  const pid_t left = std::atoi(content("left").c_str());
  ASSERT_GT(left, 0);
  for (int i = 0; i < 500 && !stat_fields(left).empty(); ++i) system_clock().sleep(0.01);
  EXPECT_TRUE(stat_fields(left).empty());
}

TEST_F(LaunchTest, RanksEndWithTheirLauncher) {
  const LaunchRequest r = shell(2, "echo $$ > $D/p$RANK; mv $D/p$RANK $D/$RANK; exec sleep 1000");
  const pid_t launcher = ::fork();
  if (launcher == 0) {
    (void)run_group(local_ranks(r, 1).value(), nullptr);
    ::_exit(0);
  }
  ASSERT_TRUE(appears("0") && appears("1"));
  ::kill(launcher, SIGKILL);
  ::waitpid(launcher, nullptr, 0);
  for (const char* name : {"0", "1"}) {
    const pid_t rank = std::atoi(content(name).c_str());
    for (int i = 0; i < 500 && !stat_fields(rank).empty(); ++i) system_clock().sleep(0.01);
    EXPECT_TRUE(stat_fields(rank).empty()) << name;
  }
}

// A launcher that ssh started has no other sign that its connection is lost.
TEST_F(LaunchTest, RanksEndWhenStandardInputEnds) {
  const LaunchRequest r = shell(2, "touch $D/$RANK; exec sleep 1000");
  int ends[2];
  ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
  const int input = ::dup(STDIN_FILENO);
  ::dup2(ends[0], STDIN_FILENO);
  std::thread lost([&] {
    EXPECT_TRUE(appears("0") && appears("1"));
    ::close(ends[1]);
  });
  const LaunchEnd end =
      run_group(local_ranks(r, 1).value(), nullptr, {.ends_with_input = true}).value();
  lost.join();
  ::dup2(input, STDIN_FILENO);
  EXPECT_EQ(end.status, 128 + SIGTERM);
  EXPECT_FALSE(end.failure);
}

TEST_F(LaunchTest, RequestsToStopReachAllRanks) {
  std::thread stop([this] {
    EXPECT_TRUE(appears("0") && appears("1"));
    request_stop(SIGTERM);
  });
  const LaunchEnd end =
      launch(shell(2,
                   "trap 'echo saved > $D/s$RANK; exit 143' TERM; touch $D/$RANK; "
                   "while :; do sleep 0.05; done"))
          .value();
  stop.join();
  EXPECT_EQ(end.status, 128 + SIGTERM);
  EXPECT_FALSE(end.failure);
  EXPECT_EQ(content("s0") + content("s1"), "saved\nsaved\n");
}

TEST_F(LaunchTest, ARankThatStoppedByItselfIsNotAFailure) {
  const LaunchEnd end = launch(shell(2, "exit 143")).value();
  EXPECT_EQ(end.status, 143);
  EXPECT_FALSE(end.failure);
}

TEST_F(LaunchTest, AProgramThatIsMissingIsAnError) {
  LaunchRequest r = shell(2, "");
  r.command = {"no-such-program-xyz"};
  EXPECT_STREQ(launch(r).error().code(), "H0004");
  r = shell(2, "");
  r.ranks = 1;
  EXPECT_TRUE(launch(r).error().is(err::kLaunchRequest));
  EXPECT_THAT(rank_launcher_named("locla").error().remedy(), HasSubstr("local"));
}

TEST_F(LaunchTest, ADryRunShowsTheCommandsAndStartsNothing) {
  LaunchRequest r = shell(2, "touch $D/started");
  r.port = 4000;
  const std::string text = rank_launcher_named("local")->dry_run(r).value();
  EXPECT_THAT(text, HasSubstr("MASTER_ADDR=127.0.0.1 MASTER_PORT=4000"));
  EXPECT_THAT(text, HasSubstr("RANK=1 WORLD_SIZE=2 sh -c 'D="));
  EXPECT_EQ(text.find("TOKEN"), std::string::npos);
  EXPECT_FALSE(std::filesystem::exists(path("started")));
}

TEST(ChildLines, BeginWithTheNameOfTheRank) {
  std::string partial = "a\nb\nc";
  EXPECT_EQ(take_lines(partial, "[rank 1] ", false), "[rank 1] a\n[rank 1] b\n");
  EXPECT_EQ(partial, "c");
  EXPECT_EQ(take_lines(partial, "> ", true), "> c\n");
  EXPECT_EQ(take_lines(partial, "> ", true), "");
  partial = "{}\nx\n";
  EXPECT_EQ(take_lines(partial, "> ", false, true), "{}\n> x\n");
  partial = std::string(100000, 'x');
  EXPECT_EQ(take_lines(partial, "", false).size(), 100001u);
}

TEST(ShareCores, GivesEachRankWholeCores) {
  const std::vector<std::vector<int>> cores = {{0, 4}, {1, 5}, {2, 6}, {3, 7}};
  const auto shares = share_cores(cores, 4, 2);
  EXPECT_THAT(shares[0].processors, ElementsAre(0, 4, 1, 5));
  EXPECT_THAT(shares[1].processors, ElementsAre(2, 6, 3, 7));
  EXPECT_EQ(shares[1].threads, 2);
  // The quota of a container is less than its processors.
  EXPECT_EQ(share_cores(cores, 2, 2)[0].threads, 1);
  // More ranks than cores.
  EXPECT_THAT(share_cores(cores, 4, 5)[4].processors, IsEmpty());
  EXPECT_EQ(share_cores(cores, 4, 5)[4].threads, 1);
  EXPECT_EQ(share_cores(cores, 4, 3)[0].threads, 2);
  EXPECT_FALSE(usable_core_processors().empty());
  EXPECT_EQ(number_list({0, 1, 2, 8, 10, 11}), "0-2,8,10-11");
}

TEST_F(LaunchTest, KnowsTheMemoryNearAShareOfTheCores) {
  write("r/sys/devices/system/node/has_memory", "0-1\n");
  write("r/sys/devices/system/node/node0/cpulist", "0-3,8-11\n");
  write("r/sys/devices/system/node/node1/cpulist", "4-7\n");
  EXPECT_THAT(memory_nodes_near({4, 5}, path("r")), ElementsAre(1));
  EXPECT_THAT(memory_nodes_near({3, 4, 8}, path("r")), ElementsAre(0, 1));
  EXPECT_THAT(memory_nodes_near({}, path("r")), IsEmpty());
}

// The words of CUDA_VISIBLE_DEVICES stay as they are: only CUDA knows the order of numbers.
// Rule 11: visible devices are chosen from, never numbered again.
TEST(ShareGpus, rule_11_ChoosesFromTheVisibleDevicesAndChangesNone) {
  using Words = std::vector<std::string>;
  const Words two = {"GPU-a", "GPU-b"};
  EXPECT_EQ(share_gpus(std::nullopt, two, 2, false).value(), two);
  EXPECT_EQ(share_gpus(std::nullopt, two, 1, false).value(), Words{"GPU-a"});
  EXPECT_EQ(share_gpus(Words{"3", "1"}, two, 2, true).value(), (Words{"3", "1"}));
  EXPECT_EQ(share_gpus(Words{"MIG-x"}, two, 1, true).value(), Words{"MIG-x"});
  EXPECT_THAT(share_gpus(Words{}, two, 2, true).value(), IsEmpty());  // the CPU
  EXPECT_THAT(share_gpus(std::nullopt, {}, 2, true).value(), IsEmpty());
  EXPECT_THAT(share_gpus(std::nullopt, two, 3, false).value(), IsEmpty());
  const auto few = share_gpus(Words{"1"}, two, 2, true);
  EXPECT_TRUE(few.error().is(err::kLaunchRequest));
  EXPECT_THAT(few.error().text(), HasSubstr("2 ranks need a GPU each, and 1 can be used here"));
  EXPECT_THAT(few.error().text(), HasSubstr("CUDA_VISIBLE_DEVICES=1"));
}

TEST(ShareGpus, ReadsTheVariableAsCudaDoes) {
  ::setenv("CUDA_VISIBLE_DEVICES", "1, GPU-x,-1,0", 1);
  EXPECT_THAT(visible_devices().value(), ElementsAre("1", "GPU-x"));
  ::setenv("CUDA_VISIBLE_DEVICES", "", 1);
  EXPECT_THAT(visible_devices().value(), IsEmpty());
  ::unsetenv("CUDA_VISIBLE_DEVICES");
  EXPECT_FALSE(visible_devices());
}

TEST(ShareGpus, rule_11_NamesGpusByUuid) {
  ::setenv("HONE_NVML", HONE_FAKE_NVML, 1);
  EXPECT_THAT(gpu_uuids(), ElementsAre("GPU-fake-0", "GPU-fake-1"));
  LaunchRequest r{.command = {"true"}, .ranks = 2, .local_ranks = 2};
  const auto children = local_ranks(r, 1).value();
  EXPECT_EQ(children[1].spec.environment.at("CUDA_VISIBLE_DEVICES"), "GPU-fake-1");
  EXPECT_THAT(rank_line(children[1]), HasSubstr("GPU GPU-fake-1"));
  ::unsetenv("HONE_NVML");
  EXPECT_FALSE(local_ranks(r, 1).value()[0].spec.environment.contains("CUDA_VISIBLE_DEVICES"));
}

// Rule 12: no rank can hold memory on the device of another.
TEST(ShareGpus, rule_12_ARankSeesOneDevice) {
  ::setenv("HONE_NVML", HONE_FAKE_NVML, 1);
  const LaunchRequest r{.command = {"true"}, .ranks = 2, .local_ranks = 2};
  std::set<std::string> devices;
  const auto children = local_ranks(r, 1).value();
  for (const auto& child : children) {
    const std::string device = child.spec.environment.at("CUDA_VISIBLE_DEVICES");
    EXPECT_EQ(device.find(','), device.npos) << device;
    devices.insert(device);
  }
  EXPECT_EQ(devices.size(), 2u);
  ::unsetenv("HONE_NVML");
}

TEST_F(LaunchTest, ThreadsOfTheUserStay) {
  LaunchRequest r{.command = {"true"}, .ranks = 2, .local_ranks = 2};
  ::setenv("OMP_NUM_THREADS", "5", 1);
  EXPECT_FALSE(local_ranks(r, 1).value()[0].spec.environment.contains("OMP_NUM_THREADS"));
  ::unsetenv("OMP_NUM_THREADS");
  EXPECT_TRUE(local_ranks(r, 1).value()[0].spec.environment.contains("OMP_NUM_THREADS"));
}

TEST_F(LaunchTest, MemoryThatRanOutIsNamed) {
  write("r/proc/vmstat", "oom_kill 4\n");
  const LaunchRequest r =
      shell(2, "test $RANK = 0 && exec sleep 0.2; echo oom_kill 5 > $D/r/proc/vmstat; kill -9 $$");
  const LaunchEnd end = run_group(local_ranks(r, 1).value(), nullptr, {.root = path("r")}).value();
  EXPECT_TRUE(end.failure->error.is(err::kRankOutOfMemory));
  EXPECT_THAT(end.failure->error.what(),
              HasSubstr("was killed by the kernel: the memory of its host ran out"));
}

TEST_F(LaunchTest, KnowsThatTheKernelKilledForMemory) {
  write("r/proc/self/cgroup", "0::/job\n");
  write("r/sys/fs/cgroup/job/memory.events", "low 0\noom 1\noom_kill 1\n");
  write("r/sys/fs/cgroup/job/memory.max", "1073741824\n");
  write("r/proc/vmstat", "nr_free 1\noom_kill 4\n");
  const OutOfMemoryWatch watch(path("r"));
  EXPECT_EQ(watch.exhausted(), "");
  write("r/proc/vmstat", "nr_free 1\noom_kill 5\n");
  EXPECT_EQ(watch.exhausted(), "the memory of its host");
  write("r/sys/fs/cgroup/job/memory.events", "low 0\noom 2\noom_kill 2\n");
  EXPECT_EQ(watch.exhausted(), "the limit of its control group (1.0 GiB)");
}

}  // namespace
}  // namespace hone
