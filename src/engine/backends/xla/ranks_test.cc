// Collectives between devices of one plug-in, on ranks that are threads.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <numeric>

#include "base/core/text.h"
#include "engine/backends/xla/together.h"
#include "engine/backends/xla/xla_test.h"
#include "engine/comm/errors.h"
#include "engine/comm/loopback.h"
#include "engine/device/errors.h"
#include "engine/device/lower.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"
#include "engine/plan/plan.h"

namespace hone {
namespace {

using testing::HasSubstr;

// Numbers whose sums depend on the order of additions.
float rank_number(int64_t k, int64_t rank) {
  const auto bits = static_cast<uint32_t>(k * 2654435761u + rank * 40503u + 12345u);
  return static_cast<float>(static_cast<int32_t>(bits)) * (rank % 3 == 0 ? 1e-3f : 1e-9f);
}

// x {8,3} of each rank: its sum, this rank's rows of it, these rows of all ranks, units folded onto the sum,
// and the rows that a slice of a whole tensor takes.
Program shared_program(const Share& share, int64_t rows) {
  Program p(op_table(), "shared");
  Builder b(p);
  const Type x{DType::f32, {rows, 3}};
  const ValueId given = p.add_input("x", x), present = p.add_input("present", {DType::i64, {}});
  const ops::Split split{share};
  const RowRange own = share_rows(rows, share);
  b.set_scope("sums");
  const ValueId sum = ops::all_reduce(b, {given}, share)[0];
  const ValueId part = ops::reduce_scatter(b, {given}, split)[0];
  const ValueId whole = ops::all_gather(b, {part}, {rows}, split)[0];
  const ValueId folded = ops::fold_units(b, {given}, {part}, present, split)[0];
  const ValueId begun = ops::fold_units(b, {given}, {}, present, split)[0];
  const ValueId sliced = ops::slice(b, sum, 0, own.begin, own.end);
  p.outputs = {{"sum", sum},       {"part", part},   {"whole", whole},
               {"folded", folded}, {"begun", begun}, {"sliced", sliced}};
  return p;
}

using Numbers = std::map<std::string, std::vector<float>>;

// Compiles and runs the program on this rank, twice.
Result<Numbers> run_rank(Group& group, int64_t rows, int64_t present) {
  const auto backend = HONE_TRY(xla::open_backend(
      {.name = "xla_cpu", .threads = 1, .ordinal = group.rank(), .ranks = group.ranks()}));
  std::vector<Program> programs;
  programs.push_back(
      HONE_TRY(lower(shared_program({group.rank(), group.ranks()}, rows), *backend)));
  const Program& p = programs[0];
  const std::vector<int64_t> no_workspace(p.nodes.size(), 0);
  const std::vector<PlanInput> inputs{{&p, no_workspace}};
  const RunPlan plan = HONE_TRY(plan_run(inputs));
  const auto executable = HONE_TRY(backend->compile(programs, plan));
  std::vector<float> x;
  for (int64_t k = 0; k < rows * 3; ++k) x.push_back(rank_number(k, group.rank()));
  Numbers results;
  Ports ports;
  ports.loads = {{nullptr, x.data(), static_cast<int64_t>(x.size() * 4)}, {nullptr, &present, 8}};
  for (const Named& o : p.outputs) {
    std::vector<float>& to = results[o.name];
    to.resize(static_cast<size_t>(p.type(o.value).count()));
    ports.stores.push_back({to.data(), nullptr, static_cast<int64_t>(to.size() * 4)});
  }
  executable->bind({}, {ports});
  for (int run = 0; run < 2; ++run) executable->run(0, nullptr);
  HONE_TRY(backend->device().check());
  return results;
}

struct XlaWorld {
  int ranks;
  int64_t rows;
};
class XlaRanks : public testing::TestWithParam<XlaWorld> {};

// Bit for bit the sums in the order of ranks, as hone's own exchanges make them, also if ranks have different
// numbers of rows.
TEST_P(XlaRanks, SumsAreMadeInTheOrderOfRanks) {
  const auto [ranks, rows] = GetParam();
  if (const auto any = xla::open_backend({.name = "xla_cpu"}); !any.ok())
    GTEST_SKIP() << any.error().text();
  const int64_t present = ranks - 1;
  std::vector<float> sums, folded, begun;
  for (int64_t k = 0; k < rows * 3; ++k) {
    float sum = rank_number(k, 0), first = sum;
    for (int64_t r = 1; r < ranks; ++r) sum += rank_number(k, r);
    for (int64_t r = 1; r < present; ++r) first += rank_number(k, r);
    float onto = sum;
    for (int64_t r = 0; r < present; ++r) onto += rank_number(k, r);
    sums.push_back(sum), folded.push_back(onto), begun.push_back(first);
  }
  LoopbackWorld world(ranks);
  const Status done = world.run([&](Group& group) -> Status {
    const Numbers got = HONE_TRY(run_rank(group, rows, present));
    const RowRange own = share_rows(rows, {group.rank(), ranks});
    const auto held = [&](const std::vector<float>& all) {
      return std::vector<float>(all.begin() + own.begin * 3, all.begin() + own.end * 3);
    };
    EXPECT_EQ(got.at("sum"), sums);
    EXPECT_EQ(got.at("whole"), sums);
    EXPECT_EQ(got.at("part"), held(sums));
    EXPECT_EQ(got.at("sliced"), held(sums));
    EXPECT_EQ(got.at("folded"), held(folded));
    EXPECT_EQ(got.at("begun"), held(begun));
    return Ok{};
  });
  EXPECT_TRUE(done.ok()) << done.error().text();
}

INSTANTIATE_TEST_SUITE_P(Worlds, XlaRanks,
                         testing::Values(XlaWorld{2, 16}, XlaWorld{8, 16}, XlaWorld{2, 5},
                                         XlaWorld{8, 19}));

// A rank that ends lets the others end, and does not leave them waiting.
TEST(XlaRanks, ARankThatEndsIsNoted) {
  if (const auto any = xla::open_backend({.name = "xla_cpu"}); !any.ok())
    GTEST_SKIP() << any.error().text();
  LoopbackWorld world(2);
  const Status done = world.run([&](Group& group) -> Status {
    if (group.rank() == 0) return run_rank(group, 4, 2).error();
    const auto opened =
        xla::open_backend({.name = "xla_cpu", .threads = 1, .ordinal = 1, .ranks = 2});
    return opened.ok() ? Status(Ok{}) : Status(opened.error());
  });
  ASSERT_FALSE(done.ok());
  EXPECT_STREQ(done.error().code(), err::kPeerLost.id);
  EXPECT_THAT(done.error().what(), HasSubstr("rank 1 has ended"));
}

}  // namespace
}  // namespace hone
