// Hosts are network namespaces with several interfaces: bridges that lead nowhere, links that lose large
// packets. Needs root and the commands ip and tc.
#include "engine/comm/engines/engines_test.h"

namespace hone {
namespace {

bool ran(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str()) == 0;
}

// Two hosts, hone_a and hone_b. Their first interface is a bridge of containers with the same address on
// both; then come links between them.
class Hosts {
 public:
  Hosts() {
    ran("ip netns del hone_a");
    ran("ip netns del hone_b");
    is_made_ = ran("ip netns add hone_a") && ran("ip netns add hone_b");
    for (const char* host : {"hone_a", "hone_b"}) {
      in(host, "ip link set lo up");
      in(host, "ip link add docker0 type bridge");
      in(host, "ip addr add 172.17.0.1/16 dev docker0");
      in(host, "ip link set docker0 up");
    }
  }
  ~Hosts() {
    ran("ip netns del hone_a");
    ran("ip netns del hone_b");
  }
  bool in(const std::string& host, const std::string& command) {
    return is_made_ = is_made_ && ran("ip netns exec " + host + " " + command);
  }
  // A link with the addresses 10.77.<number>.1 and 10.77.<number>.2.
  void add_link(int number) {
    is_made_ =
        is_made_ && ran(fmt::format("ip link add link{0} netns hone_a type veth peer name link{0} "
                                    "netns hone_b",
                                    number));
    for (const auto& [host, last] : {std::pair("hone_a", 1), std::pair("hone_b", 2)}) {
      in(host, fmt::format("ip addr add 10.77.{0}.{1}/24 dev link{0}", number, last));
      in(host, fmt::format("ip link set link{} up", number));
    }
  }
  // Packets of more than 1,400 bytes get lost, and nobody says so.
  void lose_large(int number) {
    // A token bucket drops packets that are larger than the bucket.
    for (const char* host : {"hone_a", "hone_b"})
      in(host,
         fmt::format("tc qdisc add dev link{} root tbf rate 1gbit burst 1400 limit 1m", number));
  }
  bool is_made() const { return is_made_; }

 private:
  bool is_made_ = false;
};

TEST(RankOfAProcess, Runs) { run_rank_of_process(); }

// Exit statuses of a rank on each host.
std::vector<int> statuses_of_hosts() {
  const Processes processes;
  std::vector<pid_t> started;
  for (int r = 0; r < 2; ++r)
    started.push_back(processes.start({"ip", "netns", "exec", r == 0 ? "hone_a" : "hone_b"}, "gloo",
                                      "works", test_world(r, 2, true)));
  std::vector<int> statuses;
  for (const pid_t pid : started) statuses.push_back(wait_for_child(pid).status);
  return statuses;
}

TEST(Networks, rule_9_ABridgeThatLeadsNowhereIsSkipped) {
  HONE_NEEDS_ENGINE("gloo");
  Hosts hosts;
  hosts.add_link(1);
  if (!hosts.is_made()) GTEST_SKIP() << "no network namespaces can be made here";
  EXPECT_EQ(statuses_of_hosts(), (std::vector<int>{0, 0}));
}

TEST(Networks, rule_9_ALinkThatLosesLargePacketsIsSkipped) {
  HONE_NEEDS_ENGINE("gloo");
  Hosts hosts;
  hosts.add_link(1);
  hosts.lose_large(1);
  hosts.add_link(2);
  if (!hosts.is_made()) GTEST_SKIP() << "no network namespaces can be made here";
  EXPECT_EQ(statuses_of_hosts(), (std::vector<int>{0, 0}));
}

TEST(Networks, rule_9_WithoutAGoodLinkEachRankSaysSo) {
  HONE_NEEDS_ENGINE("gloo");
  Hosts hosts;
  hosts.add_link(1);
  hosts.lose_large(1);
  if (!hosts.is_made()) GTEST_SKIP() << "no network namespaces can be made here";
  EXPECT_EQ(statuses_of_hosts(), (std::vector<int>{1, 1}));
}

}  // namespace
}  // namespace hone
