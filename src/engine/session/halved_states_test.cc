// Host code reads and writes weights in f32 that programs keep as halves.
#include "engine/session/halved_states.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include "engine/backends/cuda/emulator/emulated.h"
#include "engine/backends/reference/reference.h"
#include "engine/graph/text.h"
#include "engine/ops/ops.h"
#include "engine/session/session.h"

namespace hone {
namespace {

constexpr int kHalvedWeights = 40;

// A step of AdamW with the rate as input; y is what products would read.
Program halved_step() {
  Result<Program> p = parse_program(R"(program step
input "g" %0 : f32[5,8]
input "lr" %1 : f64[]
input "step" %2 : i64[]
input "g_scale" %3 : f64[]
state "w" %4 : f32[5,8] {role="param", trainable=true}
state "m" %5 : f32[5,8] {role="moment"}
state "v" %6 : f32[5,8] {role="moment"}
  %7 : bf16[5,8] = upper_half(%4)
  %8 : f32[5,8] = cast(%7) {dtype="f32"}
phase update
  %9 : f32[5,8], %10 : f32[5,8], %11 : f32[5,8] = adamw(%4, %0, %5, %6, %1, %2, %3) {beta1=0.9, beta2=0.999, count=1, eps=1e-08, halves=[0]}
next %4 = %9
next %5 = %10
next %6 = %11
output "y" = %8
)",
                                    op_table());
  HONE_BUG_IF(!p.ok(), "{}", p.error().text());
  return std::move(*p);
}

std::vector<float> some_weights() {
  std::vector<float> w;
  for (int i = 0; i < kHalvedWeights; ++i) w.push_back(std::sin(static_cast<float>(i)) / 3);
  w[3] = 1.00390625F;  // a tie of bf16
  w[4] = -w[3];
  w[5] = 3.4028234e38F;
  return w;
}

// Inputs share their memory with what a step makes.
void run_halved_step(Session& s, int64_t number, double rate) {
  std::ranges::fill(s.input<float>(0, "g"), 0.5F);
  s.input<double>(0, "lr")[0] = rate;
  s.input<int64_t>(0, "step")[0] = number;
  s.input<double>(0, "g_scale")[0] = 1;
  s.run(0);
}

void check_on(const Backend& backend) {
  std::vector<Program> programs;
  programs.push_back(halved_step());
  Session s = std::move(Session::compile(std::move(programs), backend).value());
  ASSERT_TRUE(s.allocate().ok());
  EXPECT_TRUE(s.is_halved("w"));
  EXPECT_FALSE(s.is_halved("m"));
  EXPECT_FALSE(s.host_reads("w"));
  EXPECT_EQ(s.state_type("w"), (Type{DType::f32, {5, 8}}));

  const std::vector<float> w = some_weights();
  s.write_state("w", std::as_bytes(std::span(w)));
  EXPECT_EQ(s.state_values<float>("w"), w);
  std::vector<float> part;  // numbers 7 to 11
  ASSERT_TRUE(s.read_state("w", {28, 16}, [&](std::span<const std::byte> block) -> Status {
                 part.resize(block.size() / 4);
                 std::memcpy(part.data(), block.data(), block.size());
                 return Ok{};
               }).ok());
  EXPECT_EQ(part, std::vector<float>(w.begin() + 7, w.begin() + 11));
  const float other = 0.123456789F;
  ASSERT_TRUE(s.write_state("w", {8, 4}, [&](std::span<std::byte> to) -> Status {
                 std::memcpy(to.data(), &other, 4);
                 return Ok{};
               }).ok());
  std::vector<float> changed = w;
  changed[2] = other;
  EXPECT_EQ(s.state_values<float>("w"), changed);

  run_halved_step(s, 1, 0);
  EXPECT_EQ(s.state_values<float>("w"), changed) << "a rate of 0 changes no bit";
  EXPECT_EQ(s.output<float>(0, "y")[3], 1.0078125F) << "rounded away from zero";
  EXPECT_EQ(s.count_not_finite("w").count, 0);
  run_halved_step(s, 2, 0.01);
  EXPECT_NEAR(s.state_values<float>("w")[2], other - 0.01F, 1e-4F);

  changed[6] = std::numeric_limits<float>::infinity();
  s.write_state("w", std::as_bytes(std::span(changed)));
  EXPECT_EQ(s.count_not_finite("w").count, 1);
}

TEST(HalvedStates, OnTheReferenceBackend) { check_on(reference_backend()); }
TEST(HalvedStates, OnTheEmulatedGpu) { check_on(*make_emulated_cuda_backend({}).value()); }

}  // namespace
}  // namespace hone
