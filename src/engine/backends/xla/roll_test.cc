// Repeated layers as loops: the text, and the numbers that it gives.
#include "engine/backends/xla/roll.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "base/core/text.h"
#include "engine/backends/null/null.h"
#include "engine/backends/reference/reference.h"
#include "engine/backends/xla/stablehlo.h"
#include "engine/backends/xla/xla_test.h"
#include "engine/device/host_device.h"
#include "engine/device/interpret.h"
#include "engine/device/lower.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"

namespace hone::xla {
namespace {

constexpr int kLayers = 8;

// A forward pass of layers with dropout, a factor of their own and a value of the layer before the last one; a
// backward pass in the other order, which reads values of the forward pass; an update.
// other_layer: layers with another function, in both passes.
Program model(const std::function<bool(int)>& other_layer = [](int) { return false; }) {
  std::string states, forward, backward, next;
  int n = 5;
  const auto value = [&] { return n++; };
  std::vector<int> w, a, x{0};
  for (int k = 0; k < kLayers; ++k) {
    w.push_back(value());
    states += fmt::format("state \"w.{}\" %{} : f32[8,8] {{role=\"param\", trainable=true}}\n", k,
                          w.back());
  }
  int before = 0;
  for (int k = 0; k < kLayers; ++k) {
    const int product = value(), factor = value(), times = value(), bent = value(), drop = value(),
              sum = value(), more = value();
    forward += fmt::format(
        "  %{0} : f32[5,8] = matmul(%{1}, %{2}) {{trans_y=true}}\n"
        "  %{3} : f32[] = constant() {{dtype=\"f32\", shape=[], value={4}}}\n"
        "  %{5} : f32[5,8] = mul(%{0}, %{3})\n"
        "  %{6} : f32[5,8] = {12}(%{5})\n"
        "  %{7} : f32[5,8] = dropout(%{6}, %1, %2, %3) {{p=0.3, key=\"h.{8}\"}}\n"
        "  %{9} : f32[5,8] = add(%{7}, %{1})\n"
        "  %{10} : f32[5,8] = add(%{9}, %{11})\n",
        product, x.back(), w[static_cast<size_t>(k)], factor, 0.5 + k / 8.0, times, bent, drop, k,
        sum, more, before, other_layer(k) ? "neg" : "tanh");
    before = x.back();
    a.push_back(product);
    x.push_back(more);
  }
  int g = x.back();
  for (size_t k = kLayers; k-- > 0;) {
    const int d = value(), dw = value(), back = value(), sum = value(), step = value(),
              moved = value();
    backward += fmt::format(
        "  %{0} : f32[5,8] = {10}(%{1}, %{2})\n"
        "  %{3} : f32[8,8] = matmul(%{0}, %{4}) {{trans_x=true}}\n"
        "  %{5} : f32[5,8] = matmul(%{0}, %{6})\n"
        "  %{7} : f32[5,8] = add(%{1}, %{5})\n"
        "  %{8} : f32[8,8] = mul(%{3}, %4)\n"
        "  %{9} : f32[8,8] = sub(%{6}, %{8})\n",
        d, g, a[k], dw, x[k], back, w[k], sum, step, moved,
        other_layer(static_cast<int>(k)) ? "sub" : "mul");
    next += fmt::format("next %{} = %{}\n", w[k], moved);
    g = sum;
  }
  const std::string text =
      "program model\ninput \"x\" %0 : f32[5,8]\ninput \"rng\" %1 : i64[2]\n"
      "input \"samples\" %2 : i64[5]\ninput \"positions\" %3 : i32[5]\ninput \"rate\" %4 : "
      "f32[]\n" +
      states + forward + backward + next + fmt::format("output \"g\" = %{}\n", g) +
      fmt::format("output \"second\" = %{}\n", a[2]);
  return std::move(parse_program(text, op_table()).value());
}

size_t count_of(const std::string& text, const std::string& word) {
  size_t count = 0;
  for (size_t at = 0; (at = text.find(word, at)) != text.npos; ++at) ++count;
  return count;
}

std::string text_of(const Program& p, StateArrays arrays, int64_t fewest = kFewestLoopLayers) {
  const NullBackend tpu(choose_planned, host_spec("tpu", 1));
  return write_module(lower(p, tpu).value(), {Integers::of_64_bits, std::move(arrays), fewest})
      .text;
}

// The states are one array.
StateArrays stacked() {
  StateArray all{true, {}};
  for (size_t k = 0; k < kLayers; ++k) all.states.push_back(k);
  return {all};
}

bool last_differs(int layer) { return layer == kLayers - 1; }

TEST(Roll, LayersAreOneBodyEach) {
  const std::string text = text_of(model(), stacked());
  EXPECT_EQ(count_of(text, "stablehlo.while"), 2u);
  EXPECT_LE(count_of(text, "stablehlo.dot_general"), 6u) << "a layer beside each loop";
  for (const std::string& line : split(text, '\n'))
    EXPECT_FALSE(line.find("concatenate") != line.npos && line.ends_with("8x8x8xf32>"))
        << "the weights are copied: " << line;
}

// Two layers are a turn then, which writes two rows of the array.
TEST(Roll, LayersThatAlternateAreOneBody) {
  const std::string text = text_of(model([](int k) { return k % 2 == 1; }), stacked(), 2);
  EXPECT_EQ(count_of(text, "stablehlo.while"), 2u);
  EXPECT_LE(count_of(text, "stablehlo.dot_general"), 16u);
}

TEST(Roll, AnotherLayerIsWrittenApart) {
  const std::string text = text_of(model(last_differs), stacked(), 2);
  EXPECT_LT(count_of(text, "stablehlo.dot_general"), 12u);
  EXPECT_EQ(count_of(text, "stablehlo.negate"), 1u);
}

TEST(Roll, FewLayersAreNoLoop) {
  const NullBackend tpu(choose_planned, host_spec("tpu", 1));
  const Program p = lower(model(), tpu).value();
  EXPECT_EQ(count_of(write_module(p, {.arrays = stacked(), .fewest_layers = 9}).text,
                     "stablehlo.dot_general"),
            static_cast<size_t>(3 * kLayers));
}

Tensor numbers(const Type& type, int seed) {
  std::vector<double> x;
  for (int64_t i = 0; i < type.count(); ++i)
    x.push_back(static_cast<double>((i * 37 + seed * 101) % 19 - 9) / 64);
  return Tensor::of(type, x);
}

void expect_near(const Tensors& got, const Tensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (const auto& [name, tensor] : expected) {
    const auto x = tensor.numbers(), y = got.at(name).numbers();
    for (size_t i = 0; i < x.size(); ++i)
      ASSERT_NEAR(y[i], x[i], 1e-5 * std::max(1.0, std::abs(x[i]))) << name << " " << i;
  }
}

TEST(Roll, TheNumbersAreThoseOfTheLayers) {
  HONE_XLA_OR_SKIP(backend);
  setenv("HONE_XLA_LOOPS", "2", 1);
  const std::function<bool(int)> kinds[] = {[](int) { return false; }, last_differs,
                                            [](int k) { return k % 2 == 1; }};
  for (const auto& other : kinds) {
    const Program p = model(other);
    Tensors given;
    given["x"] = numbers({DType::f32, {5, 8}}, 1);
    given["rng"] = Tensor::of({DType::i64, {2}}, {42, 7});
    given["samples"] = Tensor::of({DType::i64, {5}}, {0, 0, 0, 3, 3});
    given["positions"] = Tensor::of({DType::i32, {5}}, {0, 1, 2, 0, 1});
    given["rate"] = Tensor::of({DType::f32, {}}, {0.125});
    for (int k = 0; k < kLayers; ++k)
      given[fmt::format("w.{}", k)] = numbers({DType::f32, {8, 8}}, k + 2);
    const Outcome expected = interpret(p, reference_backend(), given).value();
    const Outcome got = interpret(p, *backend, given).value();
    expect_near(got.outputs, expected.outputs);
    expect_near(got.states, expected.states);
  }
  unsetenv("HONE_XLA_LOOPS");
}

}  // namespace
}  // namespace hone::xla
