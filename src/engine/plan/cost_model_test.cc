// Time of programs by what a device does in a second, with copies beside the computation.
#include "engine/plan/cost_model.h"

#include <gtest/gtest.h>

#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

Program costed(const std::string& text) {
  return std::move(parse_program("program p\n" + text, op_table()).value());
}

// 64 x 64 x 64 products of 524,288 FLOP each; a weight of 16 KiB that waits on the disk.
const char* const kBegin = R"(input "x" %0 : f32[64,64]
state "w" %1 : f32[64,64] {role="param", trainable=true, home="disk"}
)";

TEST(RunSeconds, ACopyIsBesideTheComputation) {
  const Program early =
      costed(std::string(kBegin) + R"(  %2 : f32[64,64] = copy(%1) {to="device"} lane disk_read
  %3 : f32[64,64] = matmul(%0, %0)
  %4 : f32[64,64] = wait(%2)
  %5 : f32[64,64] = matmul(%3, %4)
output "y" = %5
)");
  const double product = 2.0 * 64 * 64 * 64;
  Speeds s{.f32_flops = product, .disk_read_bytes_per_second = 16384};
  EXPECT_DOUBLE_EQ(run_seconds(early, s), 2) << "the copy takes as long as the first product";
  s.disk_read_bytes_per_second = 16384 / 3.0;
  EXPECT_DOUBLE_EQ(run_seconds(early, s), 4) << "compute waits for the copy";
  s.node_seconds = 0.5;
  EXPECT_DOUBLE_EQ(run_seconds(early, s), 4.5)
      << "the first product begins later, and is waited for";
  s.disk_read_bytes_per_second = 0;
  EXPECT_DOUBLE_EQ(run_seconds(early, s), 3) << "an unknown speed is free";
}

TEST(RunSeconds, CopiesOfALaneComeOneAfterTheOther) {
  const Program p =
      costed(std::string(kBegin) + R"(  %2 : f32[64,64] = copy(%1) {to="device"} lane disk_read
  %3 : f32[64,64] = copy(%1) {to="device"} lane disk_read
  %4 : f32[64,64] = wait(%2)
  %5 : f32[64,64] = wait(%3)
  %6 : f32[64,64] = matmul(%4, %5)
output "y" = %6
)");
  const Speeds s{.f32_flops = 2.0 * 64 * 64 * 64, .disk_read_bytes_per_second = 16384};
  EXPECT_DOUBLE_EQ(run_seconds(p, s), 3);
  EXPECT_DOUBLE_EQ(seconds_of(p, s), 1) << "without copies";
}

TEST(SecondsOf, ProductsHaveTheSpeedOfTheirOperands) {
  const Speeds s{.f32_flops = 1, .bf16_flops = 2, .f16_flops = 4};
  const auto seconds = [&](const std::string& type, const std::string& attrs) {
    return seconds_of(
        costed(fmt::format("input \"x\" %0 : {0}[8,8]\n  %1 : {0}[8,8] = matmul(%0, %0){1}\n"
                           "output \"y\" = %1\n",
                           type, attrs)),
        s);
  };
  const double product = 2.0 * 8 * 8 * 8;
  EXPECT_DOUBLE_EQ(seconds("f32", ""), product);
  EXPECT_DOUBLE_EQ(seconds("f32", " {bf16=true}"), product / 2);
  EXPECT_DOUBLE_EQ(seconds("f32", " {f16=true}"), product / 4);
  EXPECT_DOUBLE_EQ(seconds("bf16", ""), product / 2);
  EXPECT_DOUBLE_EQ(seconds("f16", ""), product / 4);
}

TEST(RunSeconds, ACollectiveTakesTheTimeOfItsLink) {
  const Program p = costed(R"(input "x" %0 : f32[64,64]
  %1 : f32[64,64] = all_reduce(%0) {rank=0, ranks=4} lane comm
  %2 : f32[64,64] = matmul(%0, %0)
  %3 : f32[64,64] = wait(%1)
output "y" = %2
output "sum" = %3
)");
  EXPECT_EQ(traffic_of(p), 3 * 16384 / 4 + 3 * 16384 / 4) << "three quarters, twice";
  Speeds s{.f32_flops = 2.0 * 64 * 64 * 64, .link_bytes_per_second = 24576};
  EXPECT_DOUBLE_EQ(run_seconds(p, s), 1) << "beside the product";
  s.link_seconds = 0.5;
  EXPECT_DOUBLE_EQ(run_seconds(p, s), 1.5);
  EXPECT_DOUBLE_EQ(seconds_of(p, s), 1);
}

}  // namespace
}  // namespace hone
