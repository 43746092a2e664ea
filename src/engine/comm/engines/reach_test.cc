// The address of a host is one that the other hosts really reach.
#include "engine/comm/engines/reach.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include "base/core/clock.h"
#include "base/core/json.h"
#include "base/ranks/connection.h"
#include "engine/comm/engines/addresses.h"
#include "engine/comm/engines/engines_test.h"
#include "engine/comm/engines/errors.h"
#include "engine/comm/engines/reach_probe.h"
#include "engine/comm/errors.h"

namespace hone {
namespace {

TEST(Reach, RanksOfOneHostTakeItsLoopback) {
  LocalKeyValues keys;
  EXPECT_EQ(reachable_address(test_world(0, 4), keys, {.interface = ""}).value(), "127.0.0.1");
}

TEST(Reach, AnInterfaceMayBeNamed) {
  LocalKeyValues keys;
  const World world = test_world(0, 2, true);
  EXPECT_EQ(reachable_address(world, keys, {.interface = "lo"}).value(), "127.0.0.1");
  EXPECT_EQ(reachable_address(world, keys, {.interface = "127.0.0.1"}).value(), "127.0.0.1");
  const auto unknown = reachable_address(world, keys, {.interface = "eth77"});
  ASSERT_FALSE(unknown.ok());
  EXPECT_TRUE(unknown.error().is(err::kCommEngine));
  EXPECT_NE(unknown.error().remedy().find("127.0.0.1 (lo)"), std::string::npos);
}

TEST(Reach, HostsTakeAnAddressThatAllOthersReach) {
  LocalKeyValues keys;
  std::vector<std::string> addresses(3);
  const auto texts = on_ranks(3, [&](int rank) -> Status {
    addresses[static_cast<size_t>(rank)] =
        HONE_TRY(reachable_address(test_world(rank, 3, true), keys, {.interface = ""}));
    return Ok{};
  });
  EXPECT_EQ(texts, std::vector<std::string>(3));
  for (const std::string& a : addresses) EXPECT_FALSE(a.empty());
}

// Rank 1 first offers an address that leads to no host of the run, and then its own.
class DeadBridge : public LocalKeyValues {
 public:
  explicit DeadBridge(bool alone) : alone_(alone) {}
  Status set(const std::string& key, std::string_view value) override {
    if (!key.ends_with("addresses/1")) return LocalKeyValues::set(key, value);
    Json json = parse_json(value, "addresses").value();
    Json& addresses = json["addresses"];
    addresses.insert(addresses.begin(), Json::array({"bridge0", "255.255.255.255", false}));
    if (alone_) addresses.erase(addresses.begin() + 1, addresses.end());
    return LocalKeyValues::set(key, dump_json(json));
  }

 private:
  bool alone_;
};

TEST(Reach, AnInterfaceThatLeadsNowhereIsSkipped) {
  DeadBridge keys(false);
  std::vector<std::string> addresses(2);
  const auto texts = on_ranks(2, [&](int rank) -> Status {
    addresses[static_cast<size_t>(rank)] =
        HONE_TRY(reachable_address(test_world(rank, 2, true), keys, {.interface = ""}));
    return Ok{};
  });
  EXPECT_EQ(texts, std::vector<std::string>(2));
  EXPECT_NE(addresses[1], "255.255.255.255");
}

TEST(Reach, AHostThatNobodyReachesIsNamedOnEachRank) {
  DeadBridge keys(true);
  const auto texts = on_ranks(2, [&](int rank) -> Status {
    HONE_TRY(reachable_address(test_world(rank, 2, true), keys, {.interface = ""}));
    return Ok{};
  });
  for (const std::string& text : texts) {
    EXPECT_TRUE(
        text.starts_with("H1505  rank 0 on worker-0 reaches no address of rank 1 on worker-1: "
                         "255.255.255.255 (bridge0)"))
        << text;
  }
}

TEST(Reach, ARankOfAnotherVersionIsAnError) {
  LocalKeyValues keys;
  ASSERT_TRUE(keys.set("comm/1/world/addresses/1", "eth0 10.0.0.2").ok());
  const auto address = reachable_address(test_world(0, 2, true), keys, {.interface = ""});
  ASSERT_FALSE(address.ok());
  EXPECT_TRUE(address.error().is(err::kRanksApart));
}

TEST(ReachProbe, AnswersOnlyThoseWhoKnowTheToken) {
  const auto server = ReachServer::start().value();
  const ReachTarget good{"127.0.0.1", server->port(), server->token()};
  const ReachTarget stranger{"127.0.0.1", server->port(), std::string(32, '0')};
  const ReachTarget nobody{"127.0.0.1", 1, server->token()};
  const ReachTarget no_address{"somewhere", server->port(), server->token()};
  const ReachTarget all[] = {stranger, good, nobody, no_address, good};
  EXPECT_EQ(reached_targets(all, 5), (std::vector<char>{0, 1, 0, 0, 1}));
}

TEST(ReachProbe, SilentAndNoisyStrangersDoNotStopIt) {
  const auto server = ReachServer::start().value();
  std::vector<FileDescriptor> strangers;
  for (int i = 0; i < 8; ++i)
    strangers.push_back(connect_to("127.0.0.1", server->port(), {.patience_s = 5}).value());
  const std::string noise(100000, 'x');
  for (size_t i = 0; i < 4; ++i)
    (void)::send(strangers[i].get(), noise.data(), noise.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  const ReachTarget good{"127.0.0.1", server->port(), server->token()};
  EXPECT_EQ(reached_targets({&good, 1}, 5), (std::vector<char>{1}));
}

TEST(Addresses, AHostHasALoopbackLast) {
  const auto all = host_addresses("127.0.0.1");
  ASSERT_FALSE(all.empty());
  EXPECT_TRUE(is_own_host(all.back()));
}

}  // namespace
}  // namespace hone
