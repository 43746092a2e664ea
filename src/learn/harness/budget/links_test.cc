// Links of planned machines: by data sheets, by flags, by guesses that are named.
#include "learn/harness/budget/links.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hone {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

Links links_for(const std::string& devices, const LinkSettings& given = {}) {
  return links_of(planned_devices(devices, 1).value().cluster, given);
}

TEST(Links, OfAMachineAreThoseOfItsSheet) {
  const Links l = links_for("8xH100");
  EXPECT_DOUBLE_EQ(l.speeds.near_bytes_per_second, 450e9);
  EXPECT_DOUBLE_EQ(l.speeds.far_bytes_per_second, 0) << "there is no other machine";
  EXPECT_THAT(l.figures, Contains("450 GB/s between devices of a machine (data sheet of H100)"));
  EXPECT_THAT(l.guesses, IsEmpty());
}

TEST(Links, BetweenMachinesAreThoseOfTheMakersServer) {
  const Links l = links_for("13x8xA100-80GB");
  EXPECT_DOUBLE_EQ(l.speeds.far_bytes_per_second, 25e9) << "of each device";
  EXPECT_EQ(l.speeds.near_ranks, 8);
  EXPECT_THAT(l.figures, Contains(HasSubstr("1600 Gbit/s from each machine to others")));
  EXPECT_THAT(l.guesses, ElementsAre(HasSubstr("--network_us")));
}

TEST(Links, AreSharedByTheDevicesOfAMachine) {
  const Links l = links_for("16x8xA100-80GB", {.network_gbit = 100, .network_us = 30});
  EXPECT_DOUBLE_EQ(l.speeds.far_bytes_per_second, 12.5e9 / 8);
  EXPECT_DOUBLE_EQ(l.speeds.far_seconds, 30e-6);
  EXPECT_THAT(l.guesses, IsEmpty());
}

TEST(Links, WithoutASheetAreGuessesWithTheirFlag) {
  const Links l = links_for("2x2xcpu");
  EXPECT_GT(l.speeds.near_bytes_per_second, 0);
  EXPECT_THAT(l.guesses, Contains(HasSubstr("--peer_gbyte")));
  EXPECT_THAT(l.guesses, Contains(HasSubstr("--network_gbit")));
  EXPECT_THAT(links_for("2x8xL4").guesses, Contains(HasSubstr("--network_gbit")));
  EXPECT_THAT(links_for("2xcpu", {.peer_gbyte = 3}).guesses, IsEmpty());
}

}  // namespace
}  // namespace hone
