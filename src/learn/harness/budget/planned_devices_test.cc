// Names of devices and of machines with several of them.
#include "learn/harness/budget/planned_devices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/settings/errors.h"

namespace hone {
namespace {

using testing::HasSubstr;

Cluster cluster(const std::string& name) {
  return std::move(planned_devices(name, 1).value().cluster);
}

TEST(PlannedDevices, MachinesOfDevicesHaveTwoCounts) {
  const Cluster c = cluster("13x8xa100-80gb");
  EXPECT_EQ(c.device.name, "A100-80GB");
  EXPECT_EQ(c.machines, 13);
  EXPECT_EQ(c.count, 8);
  EXPECT_EQ(c.all(), 104);
  EXPECT_EQ(cluster("8xH100").machines, 1);
  EXPECT_EQ(cluster("8XH100").count, 8);
  EXPECT_EQ(cluster("H200").all(), 1);
}

TEST(PlannedDevices, RanksShareTheCoresOfACpu) {
  const PlannedDevices one = planned_devices("cpu", 0).value(),
                       two = planned_devices("2xcpu", 0).value();
  EXPECT_NE(one.here, nullptr);
  EXPECT_NE(two.here, nullptr);
  EXPECT_EQ(two.cluster.count, 2);
  EXPECT_EQ(two.cluster.device.threads, std::max(1, one.cluster.device.threads / 2));
  EXPECT_EQ(planned_devices("2x1xcpu", 3).value().cluster.device.threads, 3) << "given";
}

TEST(PlannedDevices, SlicesOfTpusAreOneMachine) {
  const Cluster c = cluster("v3-8");
  EXPECT_EQ(c.device.name, "v3");
  EXPECT_EQ(c.count, 8);
  EXPECT_EQ(c.machines, 1);
  EXPECT_EQ(cluster("v4-8").all(), 4);
}

TEST(PlannedDevices, BadNamesAreRefused) {
  for (const auto& [name, why] : {std::pair("8xA100-80G", "did you mean A100-80GB?"),
                                  {"0xT4", "a count from 1 to 1024"},
                                  {"0x8xT4", "a count from 1 to 65536"},
                                  {"v4-7", "there are no 0 v4 in a slice"},
                                  {"2x0xT4", "a count from 1 to 1024"},
                                  {"2x2x2xT4", "there is no device '2xT4'"},
                                  {"0xcpu", "a count from 1 to 1024"},
                                  {"99999999999999999999xT4", "no device"}}) {
    const auto devices = planned_devices(name, 1);
    ASSERT_FALSE(devices.ok()) << name;
    EXPECT_TRUE(devices.error().is(err::kSettingChoice));
    EXPECT_THAT(devices.error().text(), HasSubstr(why));
  }
}

}  // namespace
}  // namespace hone
