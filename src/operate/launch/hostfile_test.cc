#include "operate/launch/hostfile.h"

#include <gmock/gmock.h>

#include "base/core/text.h"
#include "operate/launch/errors.h"

namespace hone {
namespace {

using ::testing::HasSubstr;

std::string hosts_text(const Result<std::vector<HostSlots>>& hosts) {
  if (!hosts.ok()) {
    EXPECT_TRUE(hosts.error().is(err::kHostfile));
    return hosts.error().what() +
           (hosts.error().where().empty() ? "" : " at " + hosts.error().where()[0]);
  }
  std::vector<std::string> texts;
  for (const HostSlots& h : *hosts)
    texts.push_back(fmt::format("{}:{}", h.host, fmt::join(h.slots, "+")));
  return join(texts, " ");
}

TEST(Hostfile, ReadsHostsAndSlots) {
  EXPECT_EQ(hosts_text(parse_hostfile(
                "# two\nworker-1 slots=2\n\n  10.0.0.2\tslots=1 max_slots=4 # x\nc", "h")),
            "worker-1:0+1 10.0.0.2:0 c:0");
}

TEST(Hostfile, RefusesOtherLines) {
  EXPECT_EQ(hosts_text(parse_hostfile("a slots=2\na", "h")), "the host 'a' appears twice at h:2");
  EXPECT_EQ(hosts_text(parse_hostfile("a slots=0", "h")),
            "'slots=0' is not a number of slots at h:1");
  EXPECT_EQ(hosts_text(parse_hostfile("a gpus=2", "h")), "'gpus=2' is not slots=NUMBER at h:1");
  EXPECT_EQ(hosts_text(parse_hostfile("-oProxyCommand=x", "h")),
            "'-oProxyCommand=x' is not the name of a host at h:1");
  EXPECT_EQ(hosts_text(parse_hostfile("\n#\n", "h")), "the hostfile names no host at h");
}

TEST(Hostfile, IncludesAndExcludesAsDeepSpeedDoes) {
  const auto hosts = parse_hostfile("a slots=4\nb slots=2\n", "h").value();
  EXPECT_EQ(hosts_text(choose_slots(hosts, "b@a:0,2", "")), "b:0+1 a:0+2");
  EXPECT_EQ(hosts_text(choose_slots(hosts, "", "a:1@b")), "a:0+2+3");
  EXPECT_EQ(hosts_text(choose_slots(hosts, "", "")), "a:0+1+2+3 b:0+1");
  EXPECT_EQ(hosts_text(choose_slots(hosts, "c", "")), "there is no host 'c' at c");
  EXPECT_EQ(hosts_text(choose_slots(hosts, "b:2", "")), "the host 'b' has no slot 2 at b:2");
  EXPECT_EQ(hosts_text(choose_slots(hosts, "", "a@b")), "all slots are excluded at a@b");
  EXPECT_THAT(hosts_text(choose_slots(hosts, "a", "b")), HasSubstr("both included and excluded"));
  EXPECT_TRUE(choose_slots(hosts, "a:1", "").value()[0].chosen);
}

TEST(Hostfile, TakesTheFirstHostsAndSlots) {
  const auto hosts = parse_hostfile("a slots=4\nb slots=2\n", "h").value();
  EXPECT_EQ(hosts_text(first_slots(hosts, 1, 2)), "a:0+1");
  EXPECT_EQ(hosts_text(first_slots(hosts, 0, 0)), "a:0+1+2+3 b:0+1");
  EXPECT_EQ(hosts_text(first_slots(hosts, 3, 0)), "3 hosts were requested, and 2 are there");
  EXPECT_EQ(hosts_text(first_slots(hosts, 2, 3)), "3 slots were requested, and the host 'b' has 2");
}

}  // namespace
}  // namespace hone
