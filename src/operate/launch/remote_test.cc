// Launchers that start ranks through other programs, with programs that stand for these.
#include "operate/launch/remote.h"

#include <gmock/gmock.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "base/core/text.h"
#include "operate/launch/errors.h"

namespace hone {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class RemoteTest : public ::testing::Test {
 protected:
  RemoteTest() {
    std::filesystem::create_directories(folder_);
    ::setenv("PATH", (folder_ + ":" + path_).c_str(), 1);
  }
  ~RemoteTest() override {
    ::setenv("PATH", path_.c_str(), 1);
    std::filesystem::remove_all(folder_);
  }
  void program(const std::string& name, const std::string& script) const {
    std::ofstream(folder_ + "/" + name) << "#!/bin/sh\n" << script << "\n";
    ::chmod((folder_ + "/" + name).c_str(), 0755);
  }
  std::string content(const std::string& name) const {
    const auto text = read_file(folder_ + "/" + name);
    return text.ok() ? *text : "";
  }
  static LaunchRequest request() {
    return {.command = {"hone", "train", "--run_name", "two words"},
            .ranks = 3,
            .local_ranks = 3,
            .hosts = {{"a", {0, 1}}, {"b", {2}, true}},
            .address = "10.0.0.1",
            .port = 4000,
            .token = "secret"};
  }

  const std::string folder_ = testing::TempDir() + "/remote_" + std::to_string(::getpid());
  const std::string path_ = environment("PATH");
};

TEST_F(RemoteTest, SshStartsALauncherOnEachHost) {
  const std::string text = rank_launcher_named("ssh")->dry_run(request()).value();
  EXPECT_THAT(text, HasSubstr("ssh -o BatchMode=yes"));
  EXPECT_THAT(text, HasSubstr(" a 'read -r HONE_RANKS_TOKEN && export HONE_RANKS_TOKEN && cd "));
  EXPECT_THAT(text, HasSubstr(" launch --num_processes 3 --processes_per_machine 2 --first_rank 0 "
                              "--num_machines 2 --machine_rank 0 --main_process_ip 10.0.0.1 "
                              "--main_process_port 4000 --end_with_input -- train --run_name"));
  EXPECT_THAT(text, HasSubstr("CUDA_VISIBLE_DEVICES=2"));
  EXPECT_THAT(text, HasSubstr("--first_rank 2 --num_machines 2 --machine_rank 1"));
  EXPECT_THAT(text, Not(HasSubstr("secret")));
}

// Each host is asked before the first rank starts, and all that fail are named.
// Rule 10: hosts are probed before anything starts there.
TEST_F(RemoteTest, rule_10_HostsAreProbedFirst) {
  program("ssh",
          "while [ $# -gt 2 ]; do shift; done\n"
          "[ $1 = a ] && { echo 'No route to host' >&2; exit 255; }\n"
          "case \"$2\" in *sha256sum*) echo 0123456789abcdef hone;; esac");
  const auto refused = rank_launcher_named("ssh")->run(request());
  EXPECT_TRUE(refused.error().is(err::kHostRefused));
  EXPECT_THAT(
      refused.error().what(),
      HasSubstr("2 of 2 hosts cannot take ranks: a: ssh does not reach it: No route to host; "
                "b: its "));
  EXPECT_THAT(refused.error().what(),
              HasSubstr("is another program (SHA-256 0123456789ab instead of"));
  program("ssh", "while [ $# -gt 2 ]; do shift; done\n[ $1 = a ] && exit 11\nexit 12");
  EXPECT_THAT(rank_launcher_named("ssh")->run(request()).error().what(),
              HasSubstr("a: it has no folder /"));
  EXPECT_THAT(rank_launcher_named("ssh")->run(request()).error().what(),
              HasSubstr("b: it has no program /"));
}

TEST_F(RemoteTest, MpirunGetsTheVariablesByName) {
  LaunchRequest r = request();
  EXPECT_THAT(rank_launcher_named("mpirun")->dry_run(r).value(),
              HasSubstr(" mpirun -np 3 -H a:2,b:1 "));
  program("mpirun", "echo \"$*\" > " + folder_ + "/words; echo $HONE_RANKS_TOKEN $MASTER_ADDR > " +
                        folder_ + "/variables");
  r.hosts.clear();
  r.address.clear();
  r.port = 0;
  r.words = {"--oversubscribe"};
  EXPECT_EQ(rank_launcher_named("mpirun")->run(r)->status, 0);
  EXPECT_THAT(content("words"), HasSubstr("-np 3 --bind-to none"));
  EXPECT_THAT(content("words"), HasSubstr("-x HONE_RANKS_TOKEN -x MASTER_ADDR -x MASTER_PORT"));
  EXPECT_THAT(content("words"), HasSubstr("--oversubscribe /"));
  EXPECT_THAT(content("words"), HasSubstr(" train --run_name two words"));
  EXPECT_THAT(content("words"), Not(HasSubstr("secret")));
  EXPECT_EQ(content("variables"), "secret 127.0.0.1\n");
}

// The end of mpirun follows from the error of a rank; if no rank failed, it is the error.
TEST_F(RemoteTest, TheEndOfALauncherIsItsStatus) {
  program("mpirun", "exit 5");
  LaunchRequest r = request();
  r.hosts.clear();
  r.address.clear();
  r.port = 0;
  const LaunchEnd end = rank_launcher_named("mpirun")->run(r).value();
  EXPECT_EQ(end.status, 5);
  EXPECT_TRUE(end.failure->error.is(err::kRankEnded));
}

TEST_F(RemoteTest, SlurmGetsAJobThatStartsTheLauncherAgain) {
  ::unsetenv("SLURM_JOB_ID");
  LaunchRequest r = request();
  r.hosts.clear();
  r.local_ranks = 1;
  r.words = {"--partition=gpu"};
  const std::string script = rank_launcher_named("slurm")->dry_run(r).value();
  EXPECT_THAT(script, HasSubstr("#!/bin/bash\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --ntasks=3\n#SBATCH --ntasks-per-node=1\n"));
  EXPECT_THAT(script, HasSubstr("#SBATCH --signal=B:TERM@120\n#SBATCH --partition=gpu\nexec /"));
  EXPECT_THAT(script,
              HasSubstr(" launch --launcher slurm --num_processes 3 --processes_per_machine 1 -- "
                        "train --run_name 'two words'\n"));
  program("sbatch", "cat > " + folder_ + "/job; echo 17");
  EXPECT_EQ(rank_launcher_named("slurm")->run(r)->status, 0);
  EXPECT_EQ(content("job"), script);
  program("sbatch", "echo no partition >&2; exit 1");
  EXPECT_TRUE(rank_launcher_named("slurm")->run(r).error().is(err::kLaunchRequest));
  ::setenv("SLURM_JOB_ID", "17", 1);
  program("srun", "echo \"$*\" > " + folder_ + "/words; echo $MASTER_ADDR $HONE_RANKS_TOKEN > " +
                      folder_ + "/variables");
  r.port = 0;
  EXPECT_EQ(rank_launcher_named("slurm")->run(r)->status, 0);
  EXPECT_THAT(content("words"), HasSubstr("--ntasks=3 --kill-on-bad-exit=0 --cpu-bind=none "
                                          "--ntasks-per-node=1 --partition=gpu /"));
  EXPECT_EQ(content("variables"), "10.0.0.1 secret\n");
  ::unsetenv("SLURM_JOB_ID");
}

TEST_F(RemoteTest, APreemptedJobIsQueuedAgain) {
  ::setenv("SLURM_JOB_ID", "17", 1);
  LaunchRequest r = request();
  r.hosts.clear();
  r.port = 0;
  program("srun", "exit 143");
  for (const bool preempted : {false, true}) {
    program("scontrol", "echo \"$*\" >> " + folder_ + "/asked; echo JobId=17 PreemptTime=" +
                            (preempted ? "2026-11-29T01:03:41" : "None") + " TimeLimit=1");
    EXPECT_NE(rank_launcher_named("slurm")->run(r)->status, 0);
    EXPECT_EQ(content("asked").find("requeue 17") != std::string::npos, preempted)
        << content("asked");
  }
  ::unsetenv("SLURM_JOB_ID");
}

TEST_F(RemoteTest, TheAddressIsOfTheWayToTheHost) {
  EXPECT_EQ(address_towards("127.0.0.1").value(), "127.0.0.1");
  EXPECT_TRUE(address_towards("no.such.host.invalid").error().is(err::kLaunchRequest));
}

}  // namespace
}  // namespace hone
