// Programs with collectives, on several ranks of one process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/backends/cpu/backend.h"
#include "engine/backends/far/far.h"
#include "engine/backends/reference/reference.h"
#include "engine/comm/errors.h"
#include "engine/comm/loopback.h"
#include "engine/device/errors.h"
#include "engine/device/interpret.h"
#include "engine/device/rank_kernels.h"
#include "engine/graph/verify.h"
#include "engine/ops/collective_parts.h"
#include "engine/ops/ops.h"
#include "engine/session/session.h"

namespace hone {
namespace {

using testing::HasSubstr;
using MakeBackend = std::unique_ptr<Backend> (*)();

std::unique_ptr<Backend> rank_cpu() { return std::move(open_cpu_backend(1).value()); }
std::unique_ptr<Backend> rank_far() { return make_far_backend(rank_cpu()); }

// The element of tensor `i` on a rank: such that sums are exact in every type.
double rank_element(size_t i, int64_t k, int64_t rank) {
  return static_cast<double>((k * 7 + static_cast<int64_t>(i) * 3 + rank * 5) % 11 - 5);
}

void put_elements(std::span<std::byte> to, const Type& type, size_t i, int64_t rank) {
  std::vector<double> values;
  for (int64_t k = 0; k < type.count(); ++k) values.push_back(rank_element(i, k, rank));
  const Tensor t = Tensor::of(type, values);
  std::copy(t.bytes.begin(), t.bytes.end(), reinterpret_cast<uint8_t*>(to.data()));
}

std::vector<double> numbers_in(std::span<const std::byte> bytes, const Type& type) {
  Tensor t(type);
  std::copy(bytes.begin(), bytes.end(), reinterpret_cast<std::byte*>(t.bytes.data()));
  return t.numbers();
}

struct RankCase {
  Types types;
  std::vector<int64_t> units = {}, owners = {};
};

// all_reduce, reduce_scatter and all_gather of its results, over inputs "x0", "x1", ...
Program three_collectives(const RankCase& c, const Share& share) {
  Program p(op_table(), "three");
  Builder b(p);
  Values x;
  std::vector<int64_t> rows;
  for (size_t i = 0; i < c.types.size(); ++i) {
    x.push_back(p.add_input(fmt::format("x{}", i), c.types[i]));
    rows.push_back(c.types[i].shape[0]);
  }
  const auto waits = [&](const std::string& name, const Values& values) {
    Values done;
    for (size_t i = 0; i < values.size(); ++i) {
      done.push_back(ops::wait(b, values[i]));
      p.outputs.push_back({fmt::format("{}{}", name, i), done.back()});
    }
    return done;
  };
  const ops::Split split{share, c.units, c.owners};
  b.set_scope("sums");
  waits("all", ops::all_reduce(b, x, share));
  const Values parts = waits("part", ops::reduce_scatter(b, x, split));
  waits("whole", ops::all_gather(b, parts, rows, split));
  return p;
}

// A plan takes the scratch of a collective from its choice.
void expect_planned_scratch(const Program& p) {
  for (const Node& n : p.nodes) {
    if (!n.op->traffic) continue;
    const Kernel kernel = rank_kernel({p, n}, nullptr);
    const Choice choice = rank_choice({p, n});
    EXPECT_EQ(choice.id, kernel.id);
    EXPECT_EQ(choice.workspace_bytes, kernel.workspace_bytes) << n.op->name;
  }
}

Status check_rank(const RankCase& c, Group& group, MakeBackend make) {
  const Share share{group.rank(), group.ranks()};
  const std::unique_ptr<Backend> backend = make();
  backend->device().set_group(&group);
  std::vector<Program> programs;
  programs.push_back(three_collectives(c, share));
  HONE_TRY(verify(programs[0]));
  Session s = HONE_TRY(Session::compile(std::move(programs), *backend));
  expect_planned_scratch(s.programs()[0]);
  HONE_TRY(s.allocate());
  for (int run = 0; run < 2; ++run) {
    for (size_t i = 0; i < c.types.size(); ++i)
      put_elements(s.input_bytes(0, fmt::format("x{}", i)), c.types[i], i, share.rank);
    s.run(0);
    HONE_TRY(s.check());
    for (size_t i = 0; i < c.types.size(); ++i) {
      const auto got = [&](const char* name) {
        const std::string output = fmt::format("{}{}", name, i);
        const Program& p = s.programs()[0];
        return numbers_in(s.output_bytes(0, output), p.type(p.output_named(output)));
      };
      std::vector<double> sums;
      for (int64_t k = 0; k < c.types[i].count(); ++k) {
        sums.push_back(0);
        for (int64_t q = 0; q < share.ranks; ++q) sums.back() += rank_element(i, k, q);
      }
      EXPECT_EQ(got("all"), sums);
      EXPECT_EQ(got("whole"), sums);
      const int64_t rows = c.types[i].shape[0], row = c.types[i].count() / rows;
      RowRange held = share_rows(rows, share, c.units.empty() ? 1 : c.units[i]);
      if (!c.owners.empty() && c.owners[i] >= 0)
        held = c.owners[i] == share.rank ? RowRange{0, rows} : RowRange{0, 0};
      EXPECT_EQ(got("part"), std::vector<double>(sums.begin() + held.begin * row,
                                                 sums.begin() + held.end * row));
    }
  }
  EXPECT_EQ(group.bytes_sent(), 2 * s.plan().programs[0].traffic_bytes);
  EXPECT_EQ(backend->device().collective(), "") << "none is being done";
  return Ok{};
}

TEST(Ranks, CollectivesOfEachTypeAndSplit) {
  const auto types = [](DType t) { return Types{{t, {7, 3}}, {t, {5}}, {t, {12, 2, 2}}}; };
  std::vector<RankCase> cases;
  for (const DType t : {DType::f32, DType::f64, DType::bf16, DType::f16})
    cases.push_back({types(t)});
  cases.push_back({types(DType::f32), {2, 1, 5}});
  cases.push_back({types(DType::f32), {}, {0, -1, 0}});
  for (const int ranks : {1, 2, 3, 4, 8})
    for (const MakeBackend make : {rank_cpu, rank_far, MakeBackend(make_reference_backend)})
      for (const RankCase& c : cases) {
        LoopbackWorld world(ranks);
        const Status done = world.run([&](Group& g) { return check_rank(c, g, make); });
        EXPECT_TRUE(done.ok()) << done.error().text();
      }
}

// Ranks 0 to 5 as a mesh of 3 and 2: each axis adds by itself, and sends what its node says.
Status check_axes(Group& group) {
  constexpr int64_t kTensor = 2;
  const int64_t data = group.rank() / kTensor, tensor = group.rank() % kTensor;
  const std::unique_ptr<Backend> backend = rank_cpu();
  backend->device().set_group(&group);
  std::vector<Program> programs;
  Program& p = programs.emplace_back(op_table(), "axes");
  Builder b(p);
  const Type type{DType::f32, {7, 3}};
  const ValueId x = p.add_input("x", type);
  const auto members = [](int64_t rank, int64_t ranks, int64_t first, int64_t stride) {
    return Attrs{{"rank", rank}, {"ranks", ranks}, {"first", first}, {"stride", stride}};
  };
  const Attrs along_data = members(data, 3, tensor, kTensor);
  const ValueId sum = b.emit1("all_reduce", {x}, members(tensor, 2, data * kTensor, 1));
  p.outputs.push_back({"tensor", ops::wait(b, sum)});
  const ValueId part = ops::wait(b, b.emit1("reduce_scatter", {x}, along_data));
  Attrs whole = along_data;
  whole.set("rows", Shape{7});
  p.outputs.push_back({"data", ops::wait(b, b.emit1("all_gather", {part}, whole))});
  HONE_TRY(verify(p));
  Session s = HONE_TRY(Session::compile(std::move(programs), *backend));
  HONE_TRY(s.allocate());
  put_elements(s.input_bytes(0, "x"), type, 0, group.rank());
  s.run(0);
  HONE_TRY(s.check());
  const auto sums = [&](std::initializer_list<int64_t> ranks) {
    std::vector<double> all;
    for (int64_t k = 0; k < type.count(); ++k) {
      all.push_back(0);
      for (const int64_t rank : ranks) all.back() += rank_element(0, k, rank);
    }
    return all;
  };
  EXPECT_EQ(numbers_in(s.output_bytes(0, "tensor"), type),
            sums({data * kTensor, data * kTensor + 1}));
  EXPECT_EQ(numbers_in(s.output_bytes(0, "data"), type), sums({tensor, tensor + 2, tensor + 4}));
  EXPECT_EQ(group.bytes_sent(), s.plan().programs[0].traffic_bytes);
  return Ok{};
}

TEST(Ranks, EachAxisOfAMeshHasItsOwnCollectives) {
  LoopbackWorld world(6);
  const Status done = world.run(check_axes);
  EXPECT_TRUE(done.ok()) << done.error().text();
}

// Units 1, 2, 3 of the tensors of groups of `copies` ranks in their order, onto what there was, in f32. `parts`
// ranks cut the rows.
Status check_fold(Group& group, int64_t copies, int64_t parts) {
  const Share share{group.rank(), group.ranks()}, groups{share.rank / copies, share.ranks / copies};
  const std::unique_ptr<Backend> backend = rank_cpu();
  backend->device().set_group(&group);
  std::vector<Program> programs;
  Program& p = programs.emplace_back(op_table(), "fold");
  Builder b(p);
  const Type whole{DType::f32, {5}}, one{DType::f32, {}};
  Type part = whole;
  const RowRange held = share_rows(5, {share.rank % parts, parts});
  part.shape[0] = held.count();
  const ValueId x = p.add_input("x", whole), y = p.add_input("y", one),
                onto = p.add_input("onto", part), onto_one = p.add_input("onto_one", one),
                present = p.add_input("present", {DType::i64, {}});
  const ops::Split split{share, {}, {-1, kEverywhere}, copies, parts};
  const Values sums = ops::fold_units(b, {x, y}, {onto, onto_one}, present, split);
  p.outputs = {{"sum", ops::wait(b, sums[0])}, {"sum_one", ops::wait(b, sums[1])}};
  HONE_TRY(verify(p));
  Session s = HONE_TRY(Session::compile(std::move(programs), *backend));
  expect_planned_scratch(s.programs()[0]);
  HONE_TRY(s.allocate());
  const auto term = [](int64_t rank, int64_t k) {
    return 0.1f * static_cast<float>(rank * 3 + k + 1);
  };
  for (int64_t there = 0; there <= groups.ranks; ++there) {
    for (int64_t k = 0; k < 5; ++k)
      s.input<float>(0, "x")[static_cast<size_t>(k)] = term(groups.rank, k);
    s.input<float>(0, "y")[0] = term(groups.rank, 7);
    for (float& f : s.input<float>(0, "onto")) f = 0.3f;
    s.input<float>(0, "onto_one")[0] = 0.7f;
    s.input<int64_t>(0, "present")[0] = there;
    s.run(0);
    HONE_TRY(s.check());
    for (int64_t k = held.begin; k < held.end; ++k) {
      float sum = 0.3f;
      for (int64_t q = 0; q < there; ++q) sum += term(q, k);
      EXPECT_EQ(s.output<float>(0, "sum")[static_cast<size_t>(k - held.begin)], sum);
    }
    float sum = 0.7f;
    for (int64_t q = 0; q < there; ++q) sum += term(q, 7);
    EXPECT_EQ(s.output<float>(0, "sum_one")[0], sum);
  }
  EXPECT_EQ(group.bytes_sent(), (groups.ranks + 1) * s.plan().programs[0].traffic_bytes);
  return Ok{};
}

TEST(Ranks, UnitsAreFoldedInTheirOrder) {
  struct Case {
    int ranks;
    int64_t copies, parts;
  };
  for (const Case& c : {Case{1, 1, 1},
                        {2, 1, 2},
                        {3, 1, 3},
                        {4, 1, 4},
                        {2, 2, 2},
                        {4, 2, 4},
                        {6, 2, 6},
                        {6, 3, 6},
                        {4, 1, 2},
                        {6, 1, 2}}) {
    LoopbackWorld world(c.ranks);
    const Status done = world.run([&](Group& g) { return check_fold(g, c.copies, c.parts); });
    EXPECT_TRUE(done.ok()) << done.error().text();
  }
}

// More than one round of messages, cut within a tensor.
TEST(Ranks, LargeTensorsComeInRounds) {
  const RankCase large{{{DType::f32, {3, 1 << 20}}, {DType::f32, {(3 << 20) + 5}}}};
  ASSERT_GT(large.types[1].bytes(), kRoundBytes);
  LoopbackWorld world(2);
  const Status done = world.run([&](Group& g) { return check_rank(large, g, rank_cpu); });
  EXPECT_TRUE(done.ok()) << done.error().text();
}

// The collectives that a rank reaches and passes.
class HeardCollectives : public CollectiveWatch {
 public:
  void reach(const std::string& node) override { names.push_back(node); }
  void pass() override { names.back() += " passed"; }
  std::vector<std::string> names;
};

TEST(Ranks, AWatchHearsEachCollectiveByName) {
  for (const MakeBackend make : {rank_cpu, rank_far, MakeBackend(make_reference_backend)}) {
    LoopbackWorld world(2);
    HeardCollectives heard[2];
    const Status done = world.run([&](Group& g) {
      g.set_watch(&heard[g.rank()]);
      Status checked = check_rank({{{DType::f32, {4}}}}, g, make);
      g.set_watch(nullptr);
      return checked;
    });
    EXPECT_TRUE(done.ok()) << done.error().text();
    ASSERT_EQ(heard[0].names.size(), 6u);  // of two runs
    EXPECT_EQ(heard[0].names[0], "all_reduce sums passed");
    EXPECT_EQ(heard[0].names, heard[1].names);
  }
}

// A rank that is gone ends the step of the others with its error, and the name of the collective.
TEST(Ranks, ALostRankIsAnErrorAfterTheStep) {
  LoopbackWorld world(2);
  std::string said;
  const Status done = world.run([&](Group& g) -> Status {
    if (g.rank() == 1) return Error(err::kDeclined, "planted");
    const Status checked = check_rank({{{DType::f32, {4}}}}, g, rank_cpu);
    said = checked.ok() ? "" : checked.error().text();
    return checked;
  });
  EXPECT_FALSE(done.ok());
  EXPECT_THAT(said, HasSubstr("all_reduce sums"));
  EXPECT_THAT(said, HasSubstr("H1502"));
}

TEST(Ranks, AProgramOfAnotherRankIsABug) {
  LoopbackWorld world(2);
  const std::unique_ptr<Backend> backend = rank_cpu();
  backend->device().set_group(&world.group(1));
  std::vector<Program> programs;
  programs.push_back(three_collectives({{{DType::f32, {4}}}}, {0, 2}));
  EXPECT_THROW((void)Session::compile(std::move(programs), *backend), Bug);
}

}  // namespace
}  // namespace hone
