#include "engine/backends/cpu/kernels/round_stochastic.h"

#include <bit>
#include <cmath>

#include "engine/backends/cpu/isa/kernels_test.h"
#include "engine/backends/cpu/kernels/optimizer.h"

namespace hone::cpu {
namespace {

float widened(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

// The formula of engine/ops/round_stochastic.cc, element by element.
uint16_t by_formula(const StochasticRounding& by, int64_t n, float x) {
  const auto i = static_cast<uint64_t>(n), counter = i / 128 * 16 + i % 16,
             step = static_cast<uint64_t>(by.step);
  const PhiloxBlock w =
      philox4x32({static_cast<uint32_t>(counter), static_cast<uint32_t>(counter >> 32),
                  static_cast<uint32_t>(step), static_cast<uint32_t>(step >> 32)},
                 by.key);
  const uint32_t word = w[i / 16 % 4], random = i % 128 < 64 ? word & 0xffff : word >> 16;
  return static_cast<uint16_t>((std::bit_cast<uint32_t>(x) + random) >> 16);
}

TEST(RoundStochastic, HasTheFormulasBitsWhereverItIsCut) {
  const StochasticRounding by{{0x12345678, 0x9abcdef0}, 77};
  for_each_isa([&] {
    Guarded x = random_floats(5000, 1);
    for (const int64_t first : {int64_t{0}, int64_t{5}, (int64_t{1} << 35) - 100}) {
      std::vector<uint16_t> want(5000), got(5000), parts(5000);
      for (int64_t i = 0; i < 5000; ++i)
        want[static_cast<size_t>(i)] = by_formula(by, first + i, x[i]);
      for (const int threads : {1, 2, 3, 7}) {
        ThreadPool pool(threads);
        round_stochastic(by, first, 5000, x.get(), got.data(), pool);
        EXPECT_EQ(got, want) << threads;
      }
      for (int64_t at = 0, n = 1; at < 5000; at += n, n = std::min<int64_t>(3 * n + 1, 5000 - at))
        round_stochastic_range(by, first + at, std::min(n, 5000 - at), x.get() + at,
                               parts.data() + at);
      EXPECT_EQ(parts, want);
    }
  });
}

// Up with the probability of the distance: over elements, over steps and over keys. Bounds are four
// standard deviations of that many draws; keys are fixed.
TEST(RoundStochastic, TheMeanIsTheNumber) {
  ThreadPool pool(2);
  constexpr int64_t kDraws = 1 << 18;
  std::vector<float> x(kDraws);
  std::vector<uint16_t> y(kDraws);
  for (const double share : {0.0, 1.0 / 65536, 0.1, 0.25, 0.5, 0.9, 65535.0 / 65536})
    for (const float sign : {1.0f, -1.0f}) {
      const uint32_t rest = static_cast<uint32_t>(share * 65536);
      const float value = sign * std::bit_cast<float>(0x3f800000u + rest);
      const double p = rest / 65536.0, most = 4 * std::sqrt(p * (1 - p) / kDraws);
      std::fill(x.begin(), x.end(), value);
      const auto up_of = [&](const std::vector<uint16_t>& rounded) {
        double up = 0;
        for (const uint16_t bits : rounded) {
          EXPECT_TRUE(bits == (sign > 0 ? 0x3f80 : 0xbf80) || bits == (sign > 0 ? 0x3f81 : 0xbf81));
          up += bits & 1;
        }
        return up / static_cast<double>(rounded.size());
      };
      round_stochastic({{1, 2}, 3}, 0, kDraws, x.data(), y.data(), pool);
      EXPECT_NEAR(up_of(y), p, most) << share;
      for (int64_t step = 0; step < kDraws; ++step)
        round_stochastic_range({{1, 2}, step}, 1000, 1, &value, &y[static_cast<size_t>(step)]);
      EXPECT_NEAR(up_of(y), p, most) << share;
      for (int64_t key = 0; key < kDraws; ++key)
        round_stochastic_range({{static_cast<uint32_t>(key), 9}, 1}, 7, 1, &value,
                               &y[static_cast<size_t>(key)]);
      EXPECT_NEAR(up_of(y), p, most) << share;
    }
}

// Elements that share a Philox word, or a counter, are rounded apart.
TEST(RoundStochastic, NeighboursAreIndependent) {
  ThreadPool pool(2);
  constexpr int64_t kDraws = 1 << 17;
  std::vector<float> x(kDraws, 1 + 0x1p-8f);  // up with probability 1/2
  std::vector<uint16_t> y(kDraws);
  round_stochastic({{5, 6}, 1}, 0, kDraws, x.data(), y.data(), pool);
  for (const int64_t apart : {1, 16, 64, 128}) {
    double both = 0, pairs = 0;
    for (int64_t i = 0; i + apart < kDraws; i += 1 + (i % 64 == 63 ? 64 : 0)) {
      both += (y[static_cast<size_t>(i)] & 1) & (y[static_cast<size_t>(i + apart)] & 1);
      ++pairs;
    }
    EXPECT_NEAR(both / pairs, 0.25, 4 * std::sqrt(0.25 * 0.75 / pairs)) << apart;
  }
}

// A rule over bf16 is the rule over f32, and its results rounded.
TEST(RoundStochastic, AdamWInBf16IsTheRoundedOneInF32) {
  for_each_isa([] {
    constexpr int64_t kCount = 4999;
    ThreadPool pool(3);
    std::vector<uint16_t> p(kCount), m(kCount), v(kCount), g(kCount);
    Guarded start[4] = {random_floats(kCount, 1), random_floats(kCount, 2),
                        random_floats(kCount, 3), random_floats(kCount, 4, 0, 1)};
    std::vector<uint16_t>* const lists[4] = {&p, &g, &m, &v};
    for (int k = 0; k < 4; ++k) f32_to_bf16(kCount, start[k].get(), lists[k]->data(), pool);
    std::vector<float> wide[4];
    for (int k = 0; k < 4; ++k)
      for (const uint16_t bits : *lists[k]) wide[k].push_back(widened(bits));
    const AdamW rule{.beta1 = 0.8, .beta2 = 0.99, .eps = 1e-6};
    const UpdateStep at{.lr = 1e-2, .step = 3, .gradient_scale = 0.5};
    UpdateTensor exact{
        wide[0].data(), {wide[1].data()}, {wide[2].data(), wide[3].data()}, kCount, 0.1};
    adamw({&exact, 1}, rule, at, pool);
    for (const bool stochastic : {true, false}) {
      std::vector<uint16_t> p1 = p, m1 = m, v1 = v;
      UpdateTensor narrow{nullptr, {g.data(), Element::bf16}, {}, kCount, 0.1};
      narrow.bf16 = {p1.data(), {m1.data(), v1.data()}, stochastic, {8, 9}, 640};
      adamw({&narrow, 1}, rule, at, pool);
      for (int64_t i = 0; i < kCount; ++i) {
        const auto k = static_cast<size_t>(i);
        uint16_t nearest[3];
        const float results[3] = {wide[0][k], wide[2][k], wide[3][k]};
        f32_to_bf16(3, results, nearest, pool);
        ASSERT_EQ(p1[k], stochastic ? by_formula({{8, 9}, 3}, 640 + i, wide[0][k]) : nearest[0]);
        ASSERT_EQ(m1[k], nearest[1]);
        ASSERT_EQ(v1[k], nearest[2]);
      }
    }
  });
}

}  // namespace
}  // namespace hone::cpu
