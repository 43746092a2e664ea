// Weights in halves have the bits of whole ones, through several updates, joined or not.
#include <gtest/gtest.h>

#include "engine/backends/cuda/emulator/emulated.h"
#include "engine/backends/cuda/joins.h"
#include "engine/device/interpret.h"
#include "engine/graph/halves.h"
#include "engine/graph/verify.h"
#include "engine/ops/ops.h"

namespace hone {
namespace {

constexpr int kSteps = 3;

// Updates of two weights, of which the second one has rows that end at an odd address; in_halves: they are kept as halves
// from the first update to the last.
Program updates_of(const std::string& rule, bool in_halves, bool by_rows) {
  Program p(op_table(), "updates");
  Builder b(p);
  const ValueId lr = p.add_input("lr", {DType::f64, {}}),
                step = p.add_input("step", {DType::i64, {}});
  for (int i = 0; i < 2; ++i) {
    const Type type{DType::f32, {4, i == 0 ? 72 : 13}};
    const auto input = [&](const char* what) {
      return p.add_input(fmt::format("{}{}", what, i), type);
    };
    ValueId w = input("p");
    const ValueId g = input("g"), m = input("m"), v = input("v");
    if (in_halves) w = ops::halves(b, w, false);
    for (int k = 0; k < kSteps; ++k) {
      ops::UpdateLists lists;
      lists.p = {w};
      lists.g = {g};
      lists.states = {m};
      if (rule == "adamw") lists.states.push_back(v);
      if (by_rows) {
        lists.rows = {1, 3};
        for (ValueId& state : lists.states) state = ops::slice(b, state, 0, 1, 3);
      }
      lists.lr = lr;
      lists.step = step;
      lists.g_scale = lr;
      Attrs attrs{{"beta1", 0.9}, {"beta2", 0.99}, {"weight_decay", 0.1}};
      if (rule == "adamw") attrs.set("eps", 1e-8);
      if (in_halves) attrs.set("halves", std::vector<int64_t>{0});
      w = ops::update(b, rule, lists, attrs)[0];
    }
    if (in_halves) p.outputs.push_back({fmt::format("upper{}", i), ops::upper_half(b, w)});
    p.outputs.push_back({fmt::format("p{}", i), in_halves ? ops::halves(b, w, true) : w});
  }
  return p;
}

Tensors given_to(const Program& p) {
  Tensors given;
  for (const Named& in : p.inputs) {
    const Type& type = p.type(in.value);
    std::vector<double> x;
    for (int64_t i = 0; i < type.count(); ++i)
      x.push_back(
          type.rank() == 0
              ? (in.name == "lr" ? 0.01 : 3)
              : 0.0123 * static_cast<double>((i * 37 + in.name[0] * 11 + in.name.back()) % 19 + 1));
    given[in.name] = Tensor::of(type, x);
  }
  return given;
}

TEST(EmulatedHalves, TheBitsOfWholeWeights) {
  const auto backend = make_emulated_cuda_backend({}).value();
  for (const std::string rule : {"adamw", "lion"})
    for (const bool by_rows : {false, true}) {
      const Program whole = updates_of(rule, false, by_rows),
                    halved = updates_of(rule, true, by_rows);
      const Outcome one = interpret(whole, *backend, given_to(whole)).value(),
                    other = interpret(halved, *backend, given_to(halved)).value();
      EXPECT_EQ(other.broken, std::vector<std::string>{});
      for (const auto& [name, t] : one.outputs) {
        EXPECT_EQ(t.bytes, other.outputs.at(name).bytes) << rule << " " << name << " " << by_rows;
        const auto* numbers = reinterpret_cast<const float*>(t.bytes.data());
        const auto* upper = reinterpret_cast<const uint16_t*>(
            other.outputs.at("upper" + name.substr(1)).bytes.data());
        for (int64_t i = 0; i < t.type.count(); ++i)
          ASSERT_EQ(upper[i], halves_of(numbers[i]).upper) << name << " " << i;
      }
    }
}

TEST(EmulatedHalves, AnyNumberIsMadeAgain) {
  for (uint64_t bits = 0; bits < 1ull << 32; bits += 4099) {
    const float x = std::bit_cast<float>(static_cast<uint32_t>(bits));
    if (x != x) continue;
    ASSERT_EQ(std::bit_cast<uint32_t>(joined(halves_of(x))), bits);
  }
  const float tie = std::bit_cast<float>(0x3f808000u), nan = std::bit_cast<float>(0x7fffffffu);
  EXPECT_EQ(halves_of(tie).upper, 0x3f81) << "away from zero";
  EXPECT_EQ(joined(halves_of(tie)), tie);
  EXPECT_TRUE(bf16_to_f32(halves_of(nan).upper) != bf16_to_f32(halves_of(nan).upper));
  EXPECT_TRUE(joined(halves_of(nan)) != joined(halves_of(nan)));
}

}  // namespace
}  // namespace hone
