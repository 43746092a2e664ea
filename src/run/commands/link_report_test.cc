// The faults of connections between hosts are named.
#include "run/commands/link_report.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::HasSubstr;
using testing::Not;

LinkSpeed link(int from, int to, double bytes_per_s, const std::string& interface = "eth0") {
  return {.from = from,
          .to = to,
          .from_host = "a",
          .to_host = "b",
          .interface = interface,
          .address = "10.0.0.2",
          .mtu = 1500,
          .speed = {bytes_per_s > 0, 5e-5, 4e-4, bytes_per_s, 0}};
}

TEST(LinkReport, NamesTheSlowPair) {
  const LinkReport report({link(0, 1, 1e9), link(0, 2, 1e8), link(1, 2, 1.1e9)}, {.name = "gloo"});
  const std::string text = report.text(100);
  EXPECT_THAT(text, HasSubstr("slow pair: 0 a - 2 b, 100 MB/s where the median is 1000"));
  EXPECT_THAT(text, HasSubstr("for hone plan: --network_gbit 0.8 --network_us 50"));
  EXPECT_EQ(report.fault(), "");
  EXPECT_EQ(report.json()["slowest"]["to"], 2);
}

TEST(LinkReport, TheBestInterfaceOfAPairCounts) {
  LinkSpeed dead = link(0, 1, 0, "docker0"), cut = link(0, 1, 0, "eth1");
  cut.speed.answers = true;
  cut.speed.least_lost = 2048;
  const LinkReport report({dead, cut, link(0, 1, 1e9)}, {.name = "gloo"});
  const std::string text = report.text(0);
  EXPECT_THAT(text, HasSubstr("no answer"));
  EXPECT_THAT(text, HasSubstr("messages of 2048 bytes do not arrive"));
  EXPECT_THAT(text, Not(HasSubstr("slow pair")));
  EXPECT_EQ(report.fault(), "");
}

TEST(LinkReport, HostsWithoutAConnectionAreAFault) {
  const LinkReport report({link(0, 1, 1e9), link(0, 2, 0), link(1, 2, 1e9)},
                          {.name = "gloo", .problem = "rank 2 is not reached"});
  EXPECT_EQ(report.fault(), "no connection: 0 a - 2 b");
  EXPECT_THAT(report.text(100), HasSubstr(report.fault()));
  const LinkReport engine({link(0, 1, 1e9)}, {.name = "gloo", .problem = "rank 1 is not reached"});
  EXPECT_EQ(engine.fault(), "gloo does not connect the ranks: rank 1 is not reached");
}

}  // namespace
}  // namespace hone
