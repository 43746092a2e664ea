// Placement passes may move and repeat what is computed, never change it; offload keeps little on
// the device.
#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <map>

#include "engine/graph/fingerprint.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"
#include "engine/passes/offload.h"
#include "engine/passes/pass.h"
#include "engine/passes/pipelines.h"
#include "engine/passes/simplify.h"
#include "engine/plan/buffers.h"
#include "engine/plan/offsets.h"

namespace hone {
namespace {

// Two linear layers, a state with a new version and two outputs.
Program two_layers() {
  return parse_program(R"(program two
input "x" %0 : f32[4,8]
state "w" %1 : f32[8,8] {role="param", trainable=true}
state "b" %2 : f32[8] {role="param", trainable=true}
state "seen" %3 : f32[4,8] {role="cache"}
  %4 : f32[4,8] = linear(%0, %1, %2)
  %5 : f32[4,8] = gelu(%4)
  %6 : f32[4,8] = linear(%5, %1) {trans_w=true}
  %7 : f32[4,8] = add(%3, %6)
next %3 = %7
output "first" = %5
output "second" = %6
)",
                       op_table())
      .value();
}

void place(Program& p, const std::function<void(Program&)>& change) {
  const std::vector<Pass> passes{{"planted", PassKind::placement, [&](Program& q) -> Result<bool> {
                                    change(q);
                                    return true;
                                  }}};
  (void)run_passes(p, passes, {}).value();
}

TEST(Placement, MayDuplicateMoveAndAlias) {
  const uint64_t before = numeric_fingerprint(two_layers());
  const std::vector<std::function<void(Program&)>> changes{
      [](Program&) {},
      [](Program& p) {  // the second linear has a gelu of its own
        Node again = p.nodes[1];
        again.clone = true;
        again.out = {p.new_value(p.type(5))};
        p.nodes[2].in[0] = again.out[0];
        p.nodes.insert(p.nodes.begin() + 2, again);
        p.renumber_producers();
      },
      [](Program& p) {  // dead, and in another order
        Node dead = p.nodes[1];
        dead.out = {p.new_value(p.type(5))};
        p.nodes.push_back(dead);
        std::swap(p.nodes[3], p.nodes[4]);
        p.renumber_producers();
      },
      [](Program& p) {  // a view of the same type between producer and reader
        Builder b(p);
        p.nodes.resize(2);
        const ValueId same = b.emit1("reshape", {5}, {{"shape", Shape{4, 8}}});
        const ValueId y = b.emit1("linear", {same, 1}, {{"trans_w", true}});
        p.outputs[1].value = y;
        p.states[2].next = ops::add(b, 3, y);
      },
      [](Program& p) {  // names of places, and the order of lists
        p.nodes[0].scope = "elsewhere";
        p.nodes[1].phase = Phase::backward;
        std::swap(p.outputs[0], p.outputs[1]);
        std::swap(p.states[0], p.states[2]);
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Program p = two_layers();
    EXPECT_NO_THROW(place(p, changes[i])) << i;
    EXPECT_EQ(numeric_fingerprint(p), before) << i;
  }
}

TEST(Placement, MayNotChangeWhatIsComputed) {
  const std::vector<std::function<void(Program&)>> changes{
      [](Program& p) { p.nodes[2].in[0] = 4; },                           // an operand
      [](Program& p) { std::swap(p.nodes[3].in[0], p.nodes[3].in[1]); },  // their order
      [](Program& p) { p.nodes[0].in.pop_back(); },                       // one less
      [](Program& p) { p.nodes[2].attrs.set("bf16", true); },             // an attribute
      [](Program& p) { p.nodes[2].attrs.erase("trans_w"); },
      [](Program& p) { p.nodes[1].op = op_table().find("gelu_tanh"); },  // the op
      [](Program& p) { std::swap(p.outputs[0].value, p.outputs[1].value); },
      [](Program& p) { p.outputs.pop_back(); },
      [](Program& p) { p.outputs[0].name = "other"; },
      [](Program& p) { p.nodes[3].in[0] = 6; },  // a new version
      [](Program& p) { p.states[2].next = kNoValue; },
      [](Program& p) { std::swap(p.states[2].name, p.states[1].name); },
      [](Program& p) {  // the element type of what is computed with
        for (ValueInfo& v : p.values) v.type.dtype = DType::f64;
      },
  };
  for (size_t i = 0; i < changes.size(); ++i) {
    Program p = two_layers();
    try {
      place(p, changes[i]);
      ADD_FAILURE() << "change " << i << " was accepted\n" << print(p);
    } catch (const Bug& e) {
      EXPECT_THAT(e.what(), testing::HasSubstr("changed what two computes")) << i;
    }
  }
}

TEST(Placement, FreezesTheProgram) {
  Program p = two_layers();
  place(p, [](Program& q) { q.nodes[0].scope = "elsewhere"; });
  EXPECT_NO_THROW(place(p, [](Program& q) { q.nodes[1].scope = "there"; }));
  EXPECT_THROW((void)run_passes(p, {{"simplify", PassKind::numeric, simplify}}, {}), Bug);
}

TEST(Placement, ClonesAreNotMerged) {
  Program p = two_layers();
  Node again = p.nodes[1];
  again.out = {p.new_value(p.type(5))};
  p.nodes[2].in[0] = again.out[0];
  p.nodes.insert(p.nodes.begin() + 2, again);
  p.renumber_producers();
  Program marked = p;
  EXPECT_TRUE(simplify(p).value());
  EXPECT_EQ(p.nodes.size(), 4u);
  marked.nodes[2].clone = true;
  EXPECT_FALSE(simplify(marked).value());
  EXPECT_EQ(marked.nodes.size(), 5u);
}

// adamw on 40 groups of 1 MiB, after a gradient of all.
Program many_updates(int groups) {
  Program p(op_table(), "update");
  Builder b(p);
  const Type type{DType::f32, {1 << 18}};
  const ValueId x = p.add_input("x", type), scalar = p.add_input("lr", {DType::f64, {}}),
                step = p.add_input("step", {DType::i64, {}});
  const auto state = [&](const std::string& name, int k, Role role) {
    State s;
    s.name = fmt::format("{}.{}", name, k);
    s.role = role;
    return p.add_state(std::move(s), type);
  };
  for (int k = 0; k < groups; ++k) {
    ops::UpdateLists lists;
    lists.lr = lists.g_scale = scalar;
    lists.step = step;
    lists.p = {state("w", k, Role::param)};
    lists.g = {ops::exp(b, x)};
    lists.states = {state("m", k, Role::moment), state("v", k, Role::moment)};
    const Values next =
        ops::update(b, "adamw", lists, {{"beta1", 0.9}, {"beta2", 0.999}, {"eps", 1e-8}});
    for (size_t i = 0; i < 3; ++i) p.states[p.states.size() - 3 + i].next = next[i];
  }
  return p;
}

int64_t most_on_device(const Program& p) {
  std::vector<Lifetime> alive;
  for (const Buffers::Buffer& b : share_storage(p).all)
    if (b.state < 0 && b.space == Space::device) alive.push_back({b.bytes, b.first, b.last});
  return most_alive(alive);
}

TEST(Offload, HoldsTheMomentsOfThreeUpdates) {
  const int64_t group = 2 * (4 << 18);
  Program p = many_updates(40);
  const int64_t before = most_on_device(p);
  ASSERT_TRUE(run_passes(p, update_pipeline({.offload = {.moments = Space::host}}), {}).ok());
  EXPECT_LE(most_on_device(p), before + 3 * group);
  EXPECT_GT(most_on_device(p), before + 2 * group);
  int copies = 0, waits = 0;
  for (const Node& n : p.nodes) {
    copies += n.op->copies;
    waits += n.op->waits;
  }
  EXPECT_EQ(copies, 4 * 40);
  EXPECT_EQ(waits, 4 * 40);
  for (const State& s : p.states)
    EXPECT_EQ(s.home, s.role == Role::moment ? Space::host : Space::device);
  for (const Buffers::Buffer& b : share_storage(p).all)
    EXPECT_TRUE(b.space == Space::device || b.state >= 0 || b.bytes == 0);
}

// Read by two nodes, only read, only written, not used.
TEST(Offload, MomentsOfAnyUse) {
  Program p = parse_program(R"(program p
input "x" %0 : f32[8]
state "two" %1 : f32[8] {role="moment"}
state "read" %2 : f32[8] {role="moment"}
state "written" %3 : f32[8] {role="moment"}
state "unused" %4 : f32[8] {role="moment"}
  %5 : f32[8] = add(%1, %2)
  %6 : f32[8] = exp(%0)
  %7 : f32[8] = add(%1, %6)
next %1 = %7
next %3 = %6
output "y" = %5
)",
                            op_table())
                  .value();
  EXPECT_TRUE(run_passes(p, update_pipeline({.offload = {.moments = Space::disk}}), {}).ok());
  std::map<std::string, int> count;
  for (const Node& n : p.nodes) ++count[n.op->name + " " + n.attrs.text("to")];
  EXPECT_EQ(count["copy device"], 2);
  EXPECT_EQ(count["copy disk"], 2);
  EXPECT_EQ(count["wait "], 4);
  Program none = two_layers();
  EXPECT_FALSE(offload(none, {.moments = Space::disk}).value());
}

TEST(Offload, TakesATwentyThousandNodeProgramInNoTime) {
  Program p = many_updates(5000);
  const std::clock_t start = std::clock();
  ASSERT_TRUE(run_passes(p,
                         {{"offload", PassKind::placement,
                           [](Program& q) { return offload(q, {.moments = Space::disk}); }}},
                         {})
                  .ok());
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  EXPECT_GE(p.nodes.size(), 50'000u);
  EXPECT_LT(seconds, 20) << "processor time grows with the square of the program";
}

}  // namespace
}  // namespace hone
