// Ranks that join the control plane of their launcher: this program, started again as each of them.
#include <gmock/gmock.h>
#include <signal.h>
#include <unistd.h>

#include <cstdlib>

#include "base/core/clock.h"
#include "base/core/process.h"
#include "base/core/text.h"
#include "base/ranks/control.h"
#include "base/ranks/errors.h"
#include "operate/launch/errors.h"
#include "operate/launch/launch.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

constexpr const char* kPart =
    "HONE_TEST_PART";  // of the ranks in a test; not set: this is not a rank

// Rank 1 does `part` at step 7, where the others wait for it. The exit status of the rank.
int do_part(const std::string& part) {
  const Result<World> world = read_world();
  if (!world.ok()) return 2;
  const auto control = Control::open(*world, {{"program", "p"}}, 30);
  if (!control.ok()) return 3;
  ControlClient& client = (*control)->client();
  client.set_step(7);
  if (!client.barrier("step 7").ok()) return 4;
  if (world->rank == 1 && part == "kill") ::raise(SIGKILL);
  if (world->rank == 1 && part == "fail") {
    (void)(*control)->end(Error(err::kControlMessage, "the disk is full"));
    return 5;
  }
  client.reach(1, "all_reduce of w");
  const Status met = client.barrier("end");
  (void)(*control)->end(met, Control::Cause::follows);
  return met.ok() ? 0 : 6;
}

TEST(RankProcess, DoesItsPart) {
  if (const std::string part = environment(kPart); !part.empty()) ::_exit(do_part(part));
}

LaunchEnd launch_part(const char* part, const char* launcher = "local") {
  ::setenv(kPart, part, 1);
  const LaunchRequest r{.command = {"test", "--gtest_filter=RankProcess.DoesItsPart"},
                        .program = "/proc/self/exe",
                        .ranks = 3,
                        .local_ranks = 3,
                        .token = "t",
                        .words = launcher == std::string("mpirun")
                                     ? std::vector<std::string>{"--oversubscribe"}
                                     : std::vector<std::string>()};
  LaunchEnd end = rank_launcher_named(launcher)->run(r).value();
  ::unsetenv(kPart);
  return end;
}

TEST(RankProcess, RanksMeet) {
  const LaunchEnd end = launch_part("meet");
  EXPECT_EQ(end.status, 0);
  EXPECT_FALSE(end.failure);
}

TEST(RankProcess, TheErrorOfTheFirstRankIsNamedWithItsStep) {
  const LaunchEnd end = launch_part("fail");
  EXPECT_EQ(end.status, 5);
  EXPECT_THAT(end.failure->sentence(), HasSubstr("rank 1 on host "));
  EXPECT_THAT(end.failure->sentence(), HasSubstr("failed first at step 7: H0128 the disk is full"));
}

// The others do not wait for a rank that is dead.
TEST(RankProcess, AKilledRankIsNoticedWithinSeconds) {
  const double begin = system_clock().seconds();
  const LaunchEnd end = launch_part("kill");
  EXPECT_LT(system_clock().seconds() - begin, 5);
  EXPECT_EQ(end.status, 128 + SIGKILL);
  EXPECT_EQ(end.failure->rank, 1);
  EXPECT_TRUE(end.failure->error.is(err::kRankEnded));
  EXPECT_EQ(end.failure->progress.step, 7);
}

// Programs that number the ranks themselves, where they are installed; Slurm inside of a job.
class ThroughOthers : public ::testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const bool is_slurm = GetParam() == std::string("slurm");
    const auto found = run_command({is_slurm ? "srun" : GetParam(), "--version"});
    if (!found.ok() || (is_slurm && environment("SLURM_JOB_ID").empty()))
      GTEST_SKIP() << GetParam() << " is not here";
  }
};

TEST_P(ThroughOthers, RanksMeet) {
  const LaunchEnd end = launch_part("meet", GetParam());
  EXPECT_EQ(end.status, 0);
  EXPECT_FALSE(end.failure);
}

TEST_P(ThroughOthers, TheFirstErrorIsNamedWithItsRankAndStep) {
  const LaunchEnd failed = launch_part("fail", GetParam());
  EXPECT_NE(failed.status, 0);
  EXPECT_THAT(failed.failure->sentence(), HasSubstr("rank 1 on host "));
  EXPECT_THAT(failed.failure->sentence(), HasSubstr("at step 7: H0128 the disk is full"));
  const LaunchEnd killed = launch_part("kill", GetParam());
  EXPECT_NE(killed.status, 0);
  EXPECT_EQ(killed.failure->rank, 1);
  EXPECT_TRUE(killed.failure->error.is(err::kRankLost));
}

INSTANTIATE_TEST_SUITE_P(RankProcess, ThroughOthers, ::testing::Values("mpirun", "slurm"));

}  // namespace
}  // namespace hone
