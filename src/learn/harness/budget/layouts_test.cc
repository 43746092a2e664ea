// Meshes of ranks, and what a product divided among ranks would send.
#include "learn/harness/budget/layouts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/settings/errors.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;

TEST(Mesh, DividesTheDevices) {
  const Cluster g = planned_devices("13x8xA100-80GB", 1).value().cluster;
  EXPECT_EQ(parse_mesh("", g).value().tensor, std::nullopt);
  EXPECT_EQ(parse_mesh("data=104", g).value().tensor, 1);
  EXPECT_EQ(parse_mesh("data=13,tensor=8", g).value().tensor, 8);
  EXPECT_EQ(parse_mesh("tensor=8,pipeline=13", g).value().pipeline, 13);
  EXPECT_EQ(parse_mesh("tensor=4", g).value().tensor, 4) << "the rest is data";
  for (const auto& [text, why] : {std::pair("data=13", "13 ranks are not 104 devices"),
                                  {"tensor=16,data=6", "96 ranks are not 104 devices"},
                                  {"tensor=13", "not in one machine of 8"},
                                  {"tensor=4,pipeline=13", "all devices of a machine"},
                                  {"rows=2", "there is no axis 'rows'"},
                                  {"data=many", "'many' is not a size"},
                                  {"data", "'' is not a size"},
                                  {"data=52,data=2", "appears twice"}}) {
    const auto mesh = parse_mesh(text, g);
    ASSERT_FALSE(mesh.ok()) << text;
    EXPECT_TRUE(mesh.error().is(err::kSettingChoice));
    EXPECT_THAT(mesh.error().text(), HasSubstr(why));
    EXPECT_THAT(mesh.error().text(), HasSubstr("a product of 104"));
  }
}

TEST(Mesh, ALayoutSaysItsAxes) {
  const Cluster g = planned_devices("2x8xH100", 1).value().cluster;
  EXPECT_EQ((RankLayout{.stage = 3}).text(g), "data=16, ZeRO-3");
  EXPECT_EQ((RankLayout{.stage = 1, .tensor = 8}).text(g), "data=2,tensor=8, ZeRO-1");
  EXPECT_EQ((RankLayout{.stage = 3, .group = 8, .how = {.gradient_checkpointing = true}}).text(g),
            "data=16, ZeRO-3 in groups of 8, --gradient_checkpointing");
}

// The result of a product, dropped out or not, and the values beside it; not a bias, nor two inputs.
TEST(ResidualSums, AreOneForEachBlock) {
  const Program p = std::move(parse_program(R"(program p
input "x" %0 : f32[4,8]
input "mask" %1 : u8[4,8]
state "w" %2 : f32[8,8] {role="param", trainable=true}
  %3 : f32[4,8] = add(%0, %0)
  %4 : f32[4,8] = linear(%3, %2)
  %5 : f32[4,8] = add(%3, %4)
  %6 : f32[4,8] = linear(%5, %2)
  %7 : f32[4,8] = gelu(%6)
  %8 : f32[4,8] = linear(%7, %2)
  %9 : f32[4,8] = add(%8, %5)
  %10 : f32[4,8] = add(%9, %7)
output "y" = %10
)",
                                            op_table())
                                  .value());
  const ResidualSums sums = residual_sums(p);
  EXPECT_EQ(sums.count, 2);
  EXPECT_EQ(sums.bytes, 2 * 4 * 8 * 4);
}

RankPlan planned(double seconds, double alone, double rows) {
  RankPlan p;
  p.fit.rows = 1;
  p.seconds = seconds;
  p.alone = alone;
  p.step_rows = rows;
  return p;
}

TEST(Layouts, ScalingComparesTheRowsOfADevice) {
  const auto cluster = [](const char* name) { return planned_devices(name, 1).value().cluster; };
  Layouts all;
  all.scales = {{cluster("1xH100"), RankPlan()},  // does not fit
                {cluster("2xH100"), planned(2, 1, 8)},
                {cluster("4xH100"), planned(2.5, 1, 16)}};
  EXPECT_DOUBLE_EQ(all.scaling(all.scales[1]), 1);
  EXPECT_DOUBLE_EQ(all.scaling(all.scales[2]), 0.8) << "6.4 rows a second, of 8";
  all.scales[0].plan = planned(1, 1, 2.5);
  EXPECT_DOUBLE_EQ(all.scaling(all.scales[1]), 0.8);
}

TEST(Warnings, NameMachinesThatMakeARunSlower) {
  const Cluster four = planned_devices("4x8xH100", 1).value().cluster,
                one = planned_devices("1x8xH100", 1).value().cluster;
  Layouts all;
  all.tried = {planned(10, 2, 32)};
  all.best = 0;
  all.scales = {{one, planned(2, 2, 8)}, {four, all.tried[0]}};
  const auto lines = layout_warnings(all, four);
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0], "more is slower: 4 rows a second with 1 machine, 3.2 with 4 machines");
  EXPECT_THAT(lines[1], HasSubstr("80 % of a step waits for messages"));
  all.tried = {planned(2.1, 2, 32)};
  all.scales[1].plan = all.tried[0];
  EXPECT_THAT(layout_warnings(all, four), IsEmpty());
}

}  // namespace
}  // namespace hone
