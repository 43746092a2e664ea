// Time of collectives by the links of ranks on one or several machines.
#include "engine/plan/link_time.h"

#include <gtest/gtest.h>

#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

Program exchanged(const std::string& text) {
  return std::move(parse_program("program p\n" + text, op_table()).value());
}

TEST(LinkTime, AnAllReduceSendsTermsAndThenSums) {
  const Program p = exchanged(R"(input "x" %0 : f32[64,64]
  %1 : f32[64,64] = all_reduce(%0) {rank=0, ranks=4} lane comm
  %2 : f32[64,64] = matmul(%0, %0)
  %3 : f32[64,64] = wait(%1)
output "y" = %2
output "sum" = %3
)");
  const Speeds product{.f32_flops = 2.0 * 64 * 64 * 64};
  LinkSpeeds links{.near_bytes_per_second = 24576};
  EXPECT_DOUBLE_EQ(run_seconds(p, product, links), 1) << "beside the product";
  links.near_seconds = 0.5;
  EXPECT_DOUBLE_EQ(run_seconds(p, product, links), 2);
  links.message_seconds = 0.25;
  EXPECT_DOUBLE_EQ(run_seconds(p, product, links), 3.5) << "three messages each time";
  EXPECT_DOUBLE_EQ(run_seconds(p, product, LinkSpeeds{}), 1) << "unknown links are free";
}

// Two machines of two ranks: a third of the bytes stays in the machine.
TEST(LinkTime, ACollectiveWaitsForItsSlowestLink) {
  const Program p = exchanged(R"(input "x" %0 : f32[16,64]
  %1 : f32[64,64] = all_gather(%0) {rank=0, ranks=4, rows=[64]} lane comm
  %2 : f32[64,64] = wait(%1)
output "y" = %2
)");
  const LinkTraffic all = link_traffic_of(p, 0), split = link_traffic_of(p, 2);
  EXPECT_DOUBLE_EQ(all.near_bytes, 3 * 4096);
  EXPECT_DOUBLE_EQ(all.far_bytes, 0);
  EXPECT_DOUBLE_EQ(split.near_bytes, 4096);
  EXPECT_DOUBLE_EQ(split.far_bytes, 2 * 4096);
  EXPECT_DOUBLE_EQ(split.messages, 3);
  EXPECT_DOUBLE_EQ(split.rounds, 1);
  LinkSpeeds links{.near_bytes_per_second = 4096, .near_ranks = 2};
  EXPECT_DOUBLE_EQ(run_seconds(p, {}, links), 1) << "an unknown network is free";
  links.far_bytes_per_second = 1024;
  EXPECT_DOUBLE_EQ(run_seconds(p, {}, links), 8);
  links.far_seconds = 0.5;
  EXPECT_DOUBLE_EQ(run_seconds(p, {}, links), 8.5);
  links.near_ranks = 4;
  EXPECT_DOUBLE_EQ(run_seconds(p, {}, links), 3) << "one machine";
}

// The scratch of sums is limited, so large ones come in rounds.
TEST(LinkTime, CountsTheMessagesOfRounds) {
  const Program p = exchanged(R"(input "x" %0 : f32[4194304]
  %1 : f32[2097152] = reduce_scatter(%0) {rank=1, ranks=2} lane comm
  %2 : f32[2097152] = wait(%1)
  %3 : f32[4194304] = all_gather(%2) {rank=1, ranks=2, rows=[4194304]} lane comm
  %4 : f32[4194304] = wait(%3)
output "y" = %4
)");
  const LinkTraffic t = link_traffic_of(p, 0);
  EXPECT_DOUBLE_EQ(t.near_bytes, 2 * 8388608.0);
  EXPECT_DOUBLE_EQ(t.rounds, 2) << "8 MiB at a time";
  EXPECT_DOUBLE_EQ(t.times(3).messages, 6);
}

}  // namespace
}  // namespace hone
