// Engines over real connections give the bits of plain loops, and every fault is an error.
#include "engine/comm/engines/engines.h"

#include <gtest/gtest.h>

#include <atomic>
#include <csignal>
#include <cstdlib>

#include "base/ranks/control.h"
#include "engine/comm/collectives_test.h"
#include "engine/comm/engines/comm_probe.h"
#include "engine/comm/engines/engines_test.h"
#include "engine/comm/engines/errors.h"
#include "engine/comm/engines/link_group.h"
#include "engine/comm/errors.h"
#include "engine/comm/measure.h"

namespace hone {
namespace {

TEST(Engines, AnUnknownNameGetsTheNearestOne) {
  LocalKeyValues keys;
  const auto group = make_group("glo", test_world(0, 2), keys);
  ASSERT_FALSE(group.ok());
  EXPECT_TRUE(group.error().is(err::kCommEngine));
  EXPECT_EQ(group.error().remedy(), "did you mean 'gloo'?");
}

TEST(Engines, AMissingModuleIsAnErrorThatNamesItsPackage) {
  const auto link = load_link({"smoke", "libhone_smoke.so", "hone_smoke_link", "libsmoke-dev"});
  ASSERT_FALSE(link.ok());
  EXPECT_TRUE(link.error().is(err::kCommEngine));
  EXPECT_NE(link.error().remedy().find("install libsmoke-dev"), std::string::npos);
}

TEST(Engines, OneRankNeedsNone) {
  LocalKeyValues keys;
  const auto group = make_group("gloo", World::alone(), keys);
  ASSERT_TRUE(group.ok());
  EXPECT_EQ((*group)->ranks(), 1);
  EXPECT_EQ(CollectiveCheck(**group).all(), "");
}

TEST(Engines, DoctorShowsEachOfThem) {
  const Probe probe = probe_communication();
  EXPECT_EQ(probe.topic, "ranks");
  for (const CommEngine& e : all_comm_engine())
    EXPECT_TRUE(probe.facts["communication"].contains(e.name));
}

TEST(Gloo, GivesTheBitsOfPlainLoops) {
  HONE_NEEDS_ENGINE("gloo");
  for (const int n : {2, 3}) {
    LocalKeyValues keys;
    const auto texts = on_ranks(n, [&](int rank) -> Status {
      const auto group = HONE_TRY(make_group("gloo", test_world(rank, n), keys));
      EXPECT_EQ(group->name(), "gloo");
      EXPECT_EQ(CollectiveCheck(*group).all(), "");
      return barrier(*group);
    });
    EXPECT_EQ(texts, std::vector<std::string>(static_cast<size_t>(n)));
  }
}

TEST(Gloo, MovesLargeMessagesBothWays) {
  HONE_NEEDS_ENGINE("gloo");
  LocalKeyValues keys;
  const auto texts = on_ranks(2, [&](int rank) -> Status {
    const auto group = HONE_TRY(make_group("gloo", test_world(rank, 2), keys));
    std::vector<uint32_t> out(size_t{6} << 20), in(out.size());
    for (size_t i = 0; i < out.size(); ++i) out[i] = static_cast<uint32_t>(i * 2654435761u) + rank;
    const Send send{1 - rank, std::as_bytes(std::span(out))};
    const Receive receive{1 - rank, std::as_writable_bytes(std::span(in))};
    HONE_TRY(group->exchange({&send, 1}, {&receive, 1}));
    for (size_t i = 0; i < in.size(); ++i)
      if (in[i] != static_cast<uint32_t>(i * 2654435761u) + (1 - rank))
        return Error(err::kMessageDiffers, fmt::format("word {} differs", i));
    EXPECT_EQ(group->bytes_sent(), static_cast<int64_t>(out.size()) * 4);
    return Ok{};
  });
  EXPECT_EQ(texts, std::vector<std::string>(2));
}

TEST(Gloo, ARankThatLeavesIsAnErrorThatNamesIt) {
  HONE_NEEDS_ENGINE("gloo");
  LocalKeyValues keys;
  const auto texts = on_ranks(3, [&](int rank) -> Status {
    const auto group = HONE_TRY(make_group("gloo", test_world(rank, 3), keys));
    HONE_TRY(barrier(*group));
    if (rank == 1) return Ok{};
    std::vector<std::byte> in(1000);
    const Receive receive{1, in};
    return group->exchange({}, {&receive, 1});
  });
  EXPECT_EQ(texts[1], "");
  for (const size_t r : {0, 2})
    EXPECT_TRUE(texts[r].starts_with(fmt::format("H1502  rank {} lost rank 1", r))) << texts[r];
}

TEST(Gloo, AbortWakesAnExchange) {
  HONE_NEEDS_ENGINE("gloo");
  LocalKeyValues keys;
  const auto texts = on_ranks(2, [&](int rank) -> Status {
    const auto group = HONE_TRY(make_group("gloo", test_world(rank, 2), keys));
    std::vector<std::byte> in(1000);
    const Receive receive{1 - rank, in};
    std::thread watch([&] {
      system_clock().sleep(0.05);
      group->stop("rank 7 has failed");
    });
    const Status done = group->exchange({}, {&receive, 1});
    watch.join();
    EXPECT_FALSE(group->exchange({}, {&receive, 1}).ok());
    return done;
  });
  // One of them may see the end of the other first.
  for (const std::string& text : texts)
    EXPECT_TRUE(text.starts_with("H1503") || text.starts_with("H1502")) << text;
  EXPECT_TRUE(texts[0].starts_with("H1503") || texts[1].starts_with("H1503"));
}

// A rank that fails elsewhere, and whose connections stay open, ends the waits of the others.
TEST(Gloo, AFailureThatTheControlPlaneKnowsEndsAnExchange) {
  HONE_NEEDS_ENGINE("gloo");
  const auto server = ControlServer::open({.state = {.ranks = 2, .token = "t"}}).value();
  std::atomic<bool> is_told = false;
  const auto texts = on_ranks(2, [&](int rank) -> Status {
    World world = test_world(rank, 2);
    world.address = "127.0.0.1";
    world.port = server->port();
    const auto client = HONE_TRY(ControlClient::join(world, {.token = "t"}));
    const auto group = HONE_TRY(make_group("gloo", world, *client));
    Status done = barrier(*group);
    if (rank == 1) {
      HONE_TRY(std::move(done));
      client->fail(Error(err::kCommEngine, "the disk is full"));
      while (!is_told) system_clock().sleep(0.01);
      return Ok{};
    }
    if (done.ok()) done = barrier(*group);  // the failure may be known in the first one already
    is_told = true;
    return done;
  });
  EXPECT_EQ(texts[1], "");
  EXPECT_TRUE(texts[0].starts_with("H1503")) << texts[0];
  EXPECT_NE(texts[0].find("the disk is full"), std::string::npos) << texts[0];
}

TEST(Gloo, PatienceWithASilentRankEnds) {
  HONE_NEEDS_ENGINE("gloo");
  LocalKeyValues keys;
  const auto texts = on_ranks(2, [&](int rank) -> Status {
    CommOptions options;
    options.exchange_s = 0.3;
    const auto group = HONE_TRY(make_group("gloo", test_world(rank, 2), keys, options));
    if (rank == 1) {
      system_clock().sleep(1);
      return Ok{};
    }
    std::vector<std::byte> in(8);
    const Receive receive{1, in};
    return group->exchange({}, {&receive, 1});
  });
  EXPECT_TRUE(texts[0].starts_with("H1502  rank 0 lost rank 1: Timed out")) << texts[0];
}

TEST(Gloo, ARankThatNeverConnectsIsAnError) {
  HONE_NEEDS_ENGINE("gloo");
  LocalKeyValues keys;
  CommOptions options;
  options.connect_s = 0.2;
  const auto group = make_group("gloo", test_world(0, 2), keys, options);
  ASSERT_FALSE(group.ok());
  EXPECT_STREQ(group.error().code(), "H0126") << group.error().text();
}

TEST(Gloo, MeasuresItsLinks) {
  HONE_NEEDS_ENGINE("gloo");
  LocalKeyValues keys;
  const auto texts = on_ranks(3, [&](int rank) -> Status {
    const auto group = HONE_TRY(make_group("gloo", test_world(rank, 3), keys));
    const GroupSpeed speed = HONE_TRY(measure_group(*group));
    for (int peer = 0; peer < 3; ++peer)
      EXPECT_EQ(speed.peers[static_cast<size_t>(peer)].bytes_per_s > 0, peer != rank);
    EXPECT_GT(speed.all_reduce_s, 0);
    return Ok{};
  });
  EXPECT_EQ(texts, std::vector<std::string>(3));
}

// The rank of a test that starts processes.
TEST(RankOfAProcess, Runs) { run_rank_of_process(); }

// Starts processes of this host as ranks, and waits for them.
std::vector<ChildEnd> ends_of(const Processes& processes, int ranks, const std::string& role) {
  std::vector<pid_t> started;
  for (int r = 0; r < ranks; ++r)
    started.push_back(processes.start({}, "gloo", role, test_world(r, ranks)));
  std::vector<ChildEnd> ends;
  for (const pid_t pid : started) ends.push_back(wait_for_child(pid));
  return ends;
}

TEST(GlooProcesses, GiveTheBitsOfPlainLoops) {
  HONE_NEEDS_ENGINE("gloo");
  for (const ChildEnd& end : ends_of(Processes(), 3, "works")) EXPECT_EQ(end.status, 0);
}

TEST(GlooProcesses, AKilledRankIsAnErrorOfTheOthers) {
  HONE_NEEDS_ENGINE("gloo");
  const auto ends = ends_of(Processes(), 3, "dies");
  EXPECT_EQ(ends[1].signal, SIGKILL);
  EXPECT_EQ(ends[0].status, 0);
  EXPECT_EQ(ends[2].status, 0);
}

TEST(MpiProcesses, GiveTheBitsOfPlainLoops) {
  HONE_NEEDS_ENGINE("mpi");
  std::string mpirun = environment("HONE_MPIRUN");
  if (mpirun.empty()) mpirun = "mpirun";
  if (std::system(("command -v " + mpirun + " >/dev/null").c_str()) != 0)
    GTEST_SKIP() << "mpirun is not here";
  const Processes processes;
  const pid_t pid = processes.start(
      {mpirun, "--allow-run-as-root", "--oversubscribe", "--bind-to", "none", "-n", "3"}, "mpi",
      "works", std::nullopt);
  EXPECT_EQ(wait_for_child(pid).status, 0);
}

}  // namespace
}  // namespace hone
