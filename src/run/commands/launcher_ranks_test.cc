#include "run/commands/launcher_ranks.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

namespace hone {
namespace {

LaunchSettings settings_of(const std::vector<RankFlag>& flags) {
  return ranks_of_flags(flags).value();
}

TEST(LauncherRanks, ARangeOfMachinesIsTheMostAndTheFewest) {
  const LaunchSettings s = settings_of({{"--nnodes", "num_machines", "2:4"},
                                        {"--nproc_per_node", "processes_per_machine", "3"},
                                        {"--max_restarts", "max_restarts", "5"},
                                        {"--node_rank", "machine_rank", "1"}});
  EXPECT_EQ(s.num_machines, 4);
  EXPECT_EQ(s.min_ranks, 6);
  EXPECT_EQ(s.max_restarts, 5);
  EXPECT_EQ(s.machine_rank, 1);
  EXPECT_EQ(settings_of({{"--nnodes", "num_machines", "2"}}).min_ranks, 0);
}

TEST(LauncherRanks, MachinesOfARendezvousAreNumberedAsTheyCome) {
  const std::vector<RankFlag> flags = {{"--nnodes", "num_machines", "2"},
                                       {"--rdzv_endpoint", "endpoint", "a:4000"}};
  EXPECT_EQ(settings_of(flags).machine_rank, -1);
  EXPECT_EQ(settings_of(flags).main_process_port, 4000);
  EXPECT_EQ(settings_of({flags[1]}).machine_rank, 0);
}

TEST(LauncherRanks, TheUsualHostfileIsReadIfThereIsOne) {
  const std::string file = testing::TempDir() + "/hostfile_" + std::to_string(::getpid());
  EXPECT_EQ(ranks_of_flags({}, file)->hostfile, "");
  std::ofstream(file) << "a slots=2\n";
  EXPECT_EQ(ranks_of_flags({}, file)->hostfile, file);
  EXPECT_EQ(ranks_of_flags({{"--hostfile", "hostfile", "mine"}}, file)->hostfile, "mine");
  std::filesystem::remove(file);
}

}  // namespace
}  // namespace hone
