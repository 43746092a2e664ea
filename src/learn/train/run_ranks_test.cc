#include "learn/train/run_ranks.h"

#include <gtest/gtest.h>

#include "base/core/clock.h"
#include "base/ranks/control_server.h"
#include "engine/comm/loopback.h"
#include "learn/train/errors.h"

namespace hone {
namespace {

// Calls fn(ranks) on a thread for each rank.
Status on_ranks(int count, const std::function<Status(RunRanks&)>& fn) {
  LoopbackWorld loopback(count);
  LocalKeyValues messages;
  return loopback.run([&](Group& group) {
    World world;
    world.rank = group.rank();
    world.ranks = count;
    world.host = fmt::format("host{}", group.rank());
    RunRanks ranks(world, messages, group);
    return fn(ranks);
  });
}

TEST(RunRanks, ARunOfOneRankAsksNobody) {
  RunRanks ranks;
  EXPECT_TRUE(ranks.alone());
  EXPECT_TRUE(ranks.leads());
  EXPECT_EQ(ranks.gather("x", 3).value(), std::vector<Json>{3});
  EXPECT_EQ(ranks.decide("x", [] { return Result<Json>(Json(4)); }).value(), 4);
  EXPECT_EQ(ranks.gather_bytes("abc").value(), std::vector<std::string>{"abc"});
}

TEST(RunRanks, GathersValuesAndBytesByRank) {
  const Status done = on_ranks(3, [](RunRanks& ranks) -> Status {
    const int64_t rank = ranks.share().rank;
    for (int64_t call = 0; call < 3; ++call)
      EXPECT_EQ(HONE_TRY(ranks.gather("x", rank + call)),
                (std::vector<Json>{call, 1 + call, 2 + call}));
    const std::string bytes(static_cast<size_t>(rank) * 1000, static_cast<char>('a' + rank));
    const std::vector<std::string> all = HONE_TRY(ranks.gather_bytes(bytes));
    EXPECT_EQ(all, (std::vector<std::string>{"", std::string(1000, 'b'), std::string(2000, 'c')}));
    return Ok{};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST(RunRanks, RankZeroDecides) {
  const Status done = on_ranks(3, [](RunRanks& ranks) -> Status {
    const Json chosen = HONE_TRY(
        ranks.decide("x", [&]() -> Result<Json> { return Json(100 + ranks.share().rank); }));
    EXPECT_EQ(chosen, 100);
    return Ok{};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST(RunRanks, AFailureOfOneIsTheFailureOfAll) {
  const Status done = on_ranks(3, [](RunRanks& ranks) -> Status {
    const Status mine = ranks.share().rank == 1
                            ? Status(Error(err::kNotFinite, "the loss is nan").todo("stop"))
                            : Status(Ok{});
    const Status all = ranks.agree("x", mine);
    EXPECT_FALSE(all.ok());
    EXPECT_STREQ(all.error().code(), "H2406");
    EXPECT_EQ(all.error().what(), "the loss is nan");
    const Result<Json> decided = ranks.decide(
        "y", []() -> Result<Json> { return Error(err::kNoCheckpoint, "there is none"); });
    EXPECT_FALSE(decided.ok());
    EXPECT_STREQ(decided.error().code(), "H2408");
    return Ok{};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
}

// Rule 1: who is missing at a collective is known by name while the others wait.
TEST(RunRanks, rule_1_ACollectiveIsNamedWhileARankIsMissing) {
  const auto server = ControlServer::open({.state = {.ranks = 2, .token = "t"}}).value();
  LoopbackWorld loopback(2);
  const auto until = [](const std::function<bool()>& holds) {
    for (int i = 0; i < 2000 && !holds(); ++i) system_clock().sleep(0.005);
    return holds();
  };
  const Status done = loopback.run([&](Group& group) -> Status {
    const World world{.rank = group.rank(),
                      .ranks = 2,
                      .host = fmt::format("h{}", group.rank()),
                      .address = "127.0.0.1",
                      .port = server->port()};
    const auto client = HONE_TRY(ControlClient::join(world, {.token = "t", .heartbeat_s = 0.02}));
    HONE_TRY(client->barrier("all are here"));
    RunRanks ranks(world, *client, group, client.get());
    if (group.rank() == 1) {
      EXPECT_TRUE(until([&] {
        const std::vector<MissingRank> missing = server->missing_at(1);
        return missing.size() == 1 && missing[0].text().starts_with("rank 1 on host h1: computes");
      }));
    }
    HONE_TRY(ranks.gather_bytes("x"));
    ranks.end_step(4, 1000);
    EXPECT_TRUE(until([&] {
      const RankProgress p = server->progress(group.rank());
      return p.step == 4 && p.timed_steps == 1 && p.collective == 1 && !p.waiting &&
             p.node == "results of all ranks" && p.busy_p50_s > 900 && p.busy_p50_s <= 1000;
    }));
    client->leave();
    return Ok{};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
}

TEST(RunRanks, AStepHasTheRowsOfTheFullWorld) {
  EXPECT_EQ(RunRanks().full_ranks(), 1);
  const RunRanks alone(World{.epoch = 2, .full_ranks = 3});
  EXPECT_TRUE(alone.alone());
  EXPECT_EQ(alone.full_ranks(), 3);
  EXPECT_EQ(alone.epoch(), 2);
}

// Rule 2: ranks that would not run the same program are refused before the first step.
TEST(RunRanks, ARankWithOtherFactsIsNamed) {
  const Json first{{"host", "a"}, {"learning_rate", 0.1}, {"data", "12"}};
  EXPECT_TRUE(check_equal_facts({first, first}).ok());
  Json other = first;
  other["host"] = "b";
  EXPECT_TRUE(check_equal_facts({first, other}).ok());
  other["learning_rate"] = 0.2;
  const Status refused = check_equal_facts({first, first, other});
  ASSERT_FALSE(refused.ok());
  EXPECT_STREQ(refused.error().code(), "H2430");
  EXPECT_EQ(refused.error().what(), "the ranks of the run differ in learning_rate");
  EXPECT_EQ(refused.error().where(),
            std::vector<std::string>{"rank 2 on b: 'learning_rate' is 0.2, rank 0 on a has 0.1"});
  other.erase("data");
  EXPECT_EQ(check_equal_facts({first, other}).error().what(),
            "the ranks of the run differ in data, learning_rate");
}

}  // namespace
}  // namespace hone
