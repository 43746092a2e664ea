// Joined nodes give the bits of those that they are made of.
#include <gtest/gtest.h>

#include "engine/backends/cuda/emulator/emulated.h"
#include "engine/backends/cuda/joins.h"
#include "engine/device/interpret.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

constexpr int kWeights = 4;

// The end of a step: squares of gradients in two groups, then an update of each weight and the copy of every second
// one. other_scale: one update has another scale than the rest. copied: updates make
// the copies themselves.
Program update_of(bool other_scale, bool copied = false) {
  Program p(op_table(), "update");
  Builder b(p);
  Values weights, gradients, m, v;
  for (int i = 0; i < kWeights; ++i) {
    const Type type{DType::f32, {3, 8 + i}};
    const auto input = [&](const char* what) {
      return p.add_input(fmt::format("{}{}", what, i), type);
    };
    weights.push_back(input("p"));
    gradients.push_back(input("g"));
    m.push_back(input("m"));
    v.push_back(input("v"));
  }
  const ValueId lr = p.add_input("lr", {DType::f64, {}}),
                step = p.add_input("step", {DType::i64, {}});
  const ValueId all = ops::concat(b,
                                  {ops::sum_squares(b, Values{gradients[0], gradients[1]}),
                                   ops::sum_squares(b, Values{gradients[2], gradients[3]})},
                                  0);
  const ops::Clip clip = ops::clip_scale(b, all, kNoValue, kNoValue, 1);
  p.outputs.push_back({"norm", clip.norm});
  for (int i = 0; i < kWeights; ++i) {
    const auto k = static_cast<size_t>(i);
    ops::UpdateLists lists;
    lists.p = {weights[k]};
    lists.g = {gradients[k]};
    lists.states = {m[k], v[k]};
    lists.lr = lr;
    lists.step = step;
    lists.g_scale = other_scale && i == 2 ? lr : clip.scale;
    if (i == 1) lists.decay = {0};
    Attrs attrs{{"beta1", 0.9}, {"beta2", 0.99}, {"eps", 1e-8}, {"weight_decay", 0.1}};
    const bool has_copy = i % 2 == 0;
    if (copied && has_copy) attrs.set("copied", std::vector<int64_t>{0});
    const Values next = ops::update(b, "adamw", lists, attrs);
    p.outputs.push_back({fmt::format("p{}", i), next[0]});
    p.outputs.push_back({fmt::format("v{}", i), next[2]});
    if (has_copy)
      p.outputs.push_back(
          {fmt::format("c{}", i), copied ? next.back() : ops::cast(b, next[0], DType::bf16)});
  }
  return p;
}

int count_of(const Program& p, std::string_view op) {
  return static_cast<int>(std::count_if(p.nodes.begin(), p.nodes.end(),
                                        [&](const Node& n) { return n.op->name == op; }));
}

TEST(EmulatedJoins, OneNodeForAll) {
  for (const bool copied : {false, true}) {
    Program p = update_of(false, copied);
    ASSERT_TRUE(cuda::join_nodes(p));
    ASSERT_TRUE(verify(p).ok());
    EXPECT_EQ(count_of(p, "sum_squares"), 1);
    EXPECT_EQ(count_of(p, "concat"), 0);
    EXPECT_EQ(count_of(p, "adamw"), 1);
    EXPECT_EQ(count_of(p, "cast"), 0);
    const Node& update = p.nodes.back();
    EXPECT_EQ(update.attrs.integer("count"), kWeights);
    EXPECT_EQ(update.attrs.integers("decay"), (std::vector<int64_t>{1, 0, 1, 1}));
    EXPECT_EQ(update.attrs.integers("copied"), (std::vector<int64_t>{0, 2}));
    EXPECT_FALSE(cuda::join_nodes(p)) << "nothing is left";
  }
}

TEST(EmulatedJoins, NotWhereAScalarDiffers) {
  Program p = update_of(true);
  ASSERT_TRUE(cuda::join_nodes(p));
  ASSERT_TRUE(verify(p).ok());
  EXPECT_EQ(count_of(p, "adamw"), 3);
}

TEST(EmulatedJoins, NotInOtherSpacesOrLanes) {
  Program host = update_of(false);
  for (ValueInfo& v : host.values) v.space = Space::host;
  EXPECT_FALSE(cuda::join_nodes(host));
  Program other = update_of(false);
  for (Node& n : other.nodes) n.lane = Lane::host_compute;
  EXPECT_FALSE(cuda::join_nodes(other));
}

// Gradients that nothing reads after their squares do not live on for a joined node.
TEST(EmulatedJoins, NoTensorLivesLonger) {
  Program p(op_table(), "norm");
  Builder b(p);
  Values squares;
  for (const char* name : {"x", "y"})
    squares.push_back(ops::sum_squares(b, Values{p.add_input(name, {DType::f32, {5}})}));
  p.outputs.push_back({"all", ops::concat(b, squares, 0)});
  EXPECT_FALSE(cuda::join_nodes(p));
}

TEST(EmulatedJoins, TheSameBits) {
  const auto backend = make_emulated_cuda_backend({}).value();
  for (const auto& [scale, copied] :
       {std::pair(1.0, false), std::pair(1.0, true), std::pair(double{INFINITY}, true)}) {
    Program apart = update_of(false, copied);
    Tensors given;
    for (const Named& in : apart.inputs) {
      const Type& type = apart.type(in.value);
      std::vector<double> x;
      for (int64_t i = 0; i < type.count(); ++i)
        x.push_back(type.rank() == 0
                        ? (in.name == "lr" ? 0.01 : 3)
                        : 0.01 * static_cast<double>((i * 37 + in.value * 11) % 19 + 1));
      if (in.name == "g3") x[0] = scale;
      given[in.name] = Tensor::of(type, x);
    }
    Program joined = apart;
    ASSERT_TRUE(cuda::join_nodes(joined));
    const Outcome one = interpret(apart, *backend, given).value(),
                  other = interpret(joined, *backend, given).value();
    EXPECT_EQ(other.broken, std::vector<std::string>{});
    ASSERT_EQ(one.outputs.size(), other.outputs.size());
    for (const auto& [name, t] : one.outputs)
      EXPECT_EQ(t.bytes, other.outputs.at(name).bytes) << name << " of " << scale;
  }
}

}  // namespace
}  // namespace hone
