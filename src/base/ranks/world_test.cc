#include "base/ranks/world.h"

#include <gmock/gmock.h>

#include "base/core/process.h"
#include "base/ranks/errors.h"

namespace hone {
namespace {

using ::testing::HasSubstr;
using VariableMap = std::map<std::string, std::string>;

Result<World> world_of(const VariableMap& variables) {
  return read_world([&](const char* name) {
    const auto it = variables.find(name);
    return it == variables.end() ? std::string() : it->second;
  });
}

std::string place_of(const VariableMap& variables) {
  const Result<World> w = world_of(variables);
  if (!w.ok()) return w.error().what();
  return fmt::format("{}/{} {}/{} {}:{}", w->rank, w->ranks, w->local_rank, w->local_ranks,
                     w->address, w->port);
}

TEST(World, IsAloneWithoutALauncher) {
  const World world = world_of({}).value();
  EXPECT_TRUE(world.is_alone());
  EXPECT_TRUE(world.leads());
  EXPECT_EQ(world.host, host_name());
  EXPECT_EQ(place_of({{"RANK", "0"}, {"LOCAL_RANK", "0"}}), "0/1 0/1 :0");
  EXPECT_EQ(place_of({{"WORLD_SIZE", "1"}, {"RANK", "0"}}), "0/1 0/1 :0");
}

TEST(World, ReadsTheVariablesOfTorchrunOpenMpiAndSlurmInThisOrder) {
  VariableMap all = {{"MASTER_ADDR", "a"},     {"MASTER_PORT", "2000"},
                     {"SLURM_STEP_ID", "0"},   {"SLURM_PROCID", "3"},
                     {"SLURM_NTASKS", "7"},    {"SLURM_LOCALID", "1"},
                     {"SLURM_NODEID", "2"},    {"SLURM_STEP_TASKS_PER_NODE", "1(x2),2,3"},
                     {"SLURMD_NODENAME", "n3"}};
  EXPECT_EQ(place_of(all), "3/7 1/2 a:2000");
  EXPECT_EQ(world_of(all)->host, "n3");
  all["SLURM_STEP_NUM_TASKS"] = "5";
  EXPECT_EQ(place_of(all), "3/5 1/2 a:2000");
  all["OMPI_COMM_WORLD_RANK"] = "2";
  all["OMPI_COMM_WORLD_SIZE"] = "4";
  all["OMPI_COMM_WORLD_LOCAL_RANK"] = "0";
  all["OMPI_COMM_WORLD_LOCAL_SIZE"] = "2";
  EXPECT_EQ(place_of(all), "2/4 0/2 a:2000");
  EXPECT_EQ(world_of(all)->host, host_name());
  all["RANK"] = "5";
  all["WORLD_SIZE"] = "8";
  all["LOCAL_RANK"] = "1";
  all["LOCAL_WORLD_SIZE"] = "4";
  EXPECT_EQ(place_of(all), "5/8 1/4 a:2000");
}

// A batch script of Slurm has SLURM_PROCID=0 too, and is not a rank.
TEST(World, ABatchScriptIsAlone) {
  EXPECT_TRUE(world_of({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "4"}})->is_alone());
}

TEST(World, KnowsTheFullWorldWhileMachinesAreMissing) {
  VariableMap v = {{"RANK", "0"}, {"WORLD_SIZE", "1"}, {"HONE_RANKS_FULL", "3"}};
  const World world = world_of(v).value();
  EXPECT_TRUE(world.is_alone());
  EXPECT_EQ(world.full_ranks, 3);
  EXPECT_EQ(world_variables(world).at("HONE_RANKS_FULL"), "3");
  v["HONE_RANKS_FULL"] = "0";
  EXPECT_EQ(place_of(v), "HONE_RANKS_FULL=0 is not a number from 1 to 65536");
  v.erase("HONE_RANKS_FULL");
  EXPECT_EQ(world_of(v)->full_ranks, 1);
}

TEST(World, RefusesContradictions) {
  const VariableMap good = {
      {"RANK", "1"}, {"WORLD_SIZE", "2"}, {"MASTER_ADDR", "a"}, {"MASTER_PORT", "1"}};
  EXPECT_EQ(place_of(good), "1/2 0/1 a:1");
  const auto with = [&](const char* name, const char* value) {
    VariableMap v = good;
    v[name] = value;
    if (*value == '\0') v.erase(name);
    return place_of(v);
  };
  EXPECT_EQ(with("RANK", "2"), "RANK=2 is not a number from 0 to 1");
  EXPECT_EQ(with("RANK", "x"), "RANK=x is not a number from 0 to 1");
  EXPECT_EQ(with("RANK", ""), "WORLD_SIZE=2 and RANK is not set");
  EXPECT_EQ(with("WORLD_SIZE", ""), "RANK=1 and WORLD_SIZE is not set");
  EXPECT_EQ(with("WORLD_SIZE", "0"), "WORLD_SIZE=0 is not a number from 1 to 65536");
  EXPECT_EQ(with("LOCAL_RANK", "2"), "LOCAL_RANK=2 is not a number from 0 to 1");
  EXPECT_EQ(with("LOCAL_WORLD_SIZE", "3"), "LOCAL_WORLD_SIZE=3 is not a number from 1 to 2");
  EXPECT_EQ(with("MASTER_ADDR", ""), "there are 2 ranks and MASTER_ADDR is not set");
  EXPECT_EQ(with("MASTER_PORT", "99999"), "MASTER_PORT=99999 is not a number from 1 to 65535");
  EXPECT_EQ(with("HONE_RANKS_EPOCH", "-1"),
            fmt::format("HONE_RANKS_EPOCH=-1 is not a number from 1 to {}", INT64_MAX));
  EXPECT_TRUE(world_of({{"RANK", "1"}}).error().is(err::kWorldVariables));
  EXPECT_THAT(world_of({{"RANK", "1"}}).error().remedy(), HasSubstr("hone launch"));
}

TEST(World, ReadsBackItsOwnVariables) {
  World world{.rank = 3, .ranks = 4, .local_rank = 1, .local_ranks = 2, .host = host_name()};
  world.address = "10.0.0.1";
  world.port = 4000;
  world.epoch = 7;
  world.served = true;
  const World same = world_of(world_variables(world)).value();
  EXPECT_EQ(world_variables(same), world_variables(world));
  EXPECT_TRUE(same.served);
  EXPECT_EQ(same.epoch, 7);
}

TEST(World, TokensDiffer) {
  EXPECT_EQ(new_ranks_token().size(), 32u);
  EXPECT_NE(new_ranks_token(), new_ranks_token());
}

}  // namespace
}  // namespace hone
