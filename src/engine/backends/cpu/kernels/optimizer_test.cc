#include "engine/backends/cpu/kernels/optimizer.h"

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

TEST(Optimizer, AdamWMatchesTheFormula) {
  for_each_isa([] {
    const int64_t sizes[] = {1, 70, 1000};
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      std::vector<Guarded> p, g, m, v;
      std::vector<UpdateTensor> list;
      for (int64_t n : sizes) {
        p.push_back(random_floats(n, 1));
        g.push_back(random_floats(n, 2));
        m.push_back(random_floats(n, 3));
        v.push_back(random_floats(n, 4, 0, 1));
      }
      for (int i = 0; i < 3; ++i)
        list.push_back(
            {p[i].get(), {g[i].get()}, {m[i].get(), v[i].get()}, sizes[i], i == 1 ? 0.0 : 0.1});
      adamw(list, {.beta1 = 0.8, .beta2 = 0.99, .eps = 1e-6},
            {.lr = 1e-2, .step = 3, .gradient_scale = 0.5}, pool);
      for (int i = 0; i < 3; ++i) {
        Guarded p0 = random_floats(sizes[i], 1), m0 = random_floats(sizes[i], 3),
                v0 = random_floats(sizes[i], 4, 0, 1);
        for (int64_t j = 0; j < sizes[i]; ++j) {
          const double grad = 0.5 * g[i][j], em = 0.8 * m0[j] + 0.2 * grad,
                       ev = 0.99 * v0[j] + 0.01 * grad * grad;
          const double decayed = p0[j] * (1 - 1e-2 * list[i].weight_decay);
          const double want =
              decayed - 1e-2 / (1 - std::pow(0.8, 3)) * em /
                            (std::sqrt(ev) / std::sqrt(1 - std::pow(0.99, 3)) + 1e-6);
          ASSERT_NEAR(m[i][j], em, 2e-7);
          ASSERT_NEAR(v[i][j], ev, 2e-7);
          ASSERT_NEAR(p[i][j], want, 3e-7);
        }
        EXPECT_TRUE(p[i].intact() && m[i].intact() && v[i].intact());
      }
    }
  });
}

TEST(Optimizer, SumSquares) {
  for_each_isa([] {
    Guarded a = random_floats(40001, 1), b = random_floats(7, 2);
    const TensorView list[] = {{{a.get()}, a.size()}, {{b.get()}, b.size()}};
    std::vector<double> want(2), first;
    for (int64_t i = 0; i < a.size(); ++i) want[0] += double{a[i]} * a[i];
    for (int64_t i = 0; i < b.size(); ++i) want[1] += double{b[i]} * b[i];
    std::vector<double> w(sum_squares_workspace_bytes(40008, 2) / 8);
    for (int threads : {1, 2, 5}) {
      ThreadPool pool(threads);
      std::vector<double> got(2);
      sum_squares(list, got.data(), w.data(), pool);
      for (size_t i = 0; i < 2; ++i) EXPECT_NEAR(got[i], want[i], 1e-9 * want[i]);
      if (threads == 1) first = got;
      EXPECT_EQ(got, first);
    }
    double alone = 0;  // a shorter list: the same bits
    ThreadPool pool(2);
    sum_squares(std::span(list).subspan(1), &alone, w.data(), pool);
    EXPECT_EQ(alone, first[1]);
  });
}

TEST(Optimizer, Conversions) {
  for_each_isa([] {
    ThreadPool pool(2);
    // every f16 value there and back; every bf16 value too
    std::vector<uint16_t> h(65536), back(65536);
    std::vector<float> f(65536);
    for (int i = 0; i < 65536; ++i) h[i] = static_cast<uint16_t>(i);
    f16_to_f32(65536, h.data(), f.data(), pool);
    f32_to_f16(65536, f.data(), back.data(), pool);
    for (int i = 0; i < 65536; ++i) {
      const bool nan = (i & 0x7fff) > 0x7c00;
      ASSERT_EQ(std::isnan(f[i]), nan);
      if (!nan) {
        ASSERT_EQ(back[i], h[i]);
      }
    }
    EXPECT_EQ(f[0x3c00], 1.0f);
    EXPECT_EQ(f[1], 0x1p-24f);
    bf16_to_f32(65536, h.data(), f.data(), pool);
    f32_to_bf16(65536, f.data(), back.data(), pool);
    for (int i = 0; i < 65536; ++i)
      if (!std::isnan(f[i])) {
        ASSERT_EQ(back[i], h[i]);
      }
    // ties go to even; the lane count 21 has a tail on every instruction set
    std::vector<float> x(21, 1.0f + 0x1p-11f);
    std::vector<uint16_t> y(21);
    f32_to_f16(21, x.data(), y.data(), pool);
    for (uint16_t v : y) EXPECT_EQ(v, 0x3c00);
    for (float& v : x) v = 1.0f + 3 * 0x1p-11f;
    f32_to_f16(21, x.data(), y.data(), pool);
    for (uint16_t v : y) EXPECT_EQ(v, 0x3c02);
    for (float& v : x) v = 3 * 0x1p-25f;
    f32_to_f16(21, x.data(), y.data(), pool);
    for (uint16_t v : y) EXPECT_EQ(v, 2);
    for (float& v : x) v = 1.0f + 3 * 0x1p-8f;
    f32_to_bf16(21, x.data(), y.data(), pool);
    for (uint16_t v : y) EXPECT_EQ(v, 0x3f82);
    const float big[] = {65519.0f, 65520.0f, NAN};
    f32_to_f16(3, big, y.data(), pool);
    EXPECT_EQ(y[0], 0x7bff);
    EXPECT_EQ(y[1], 0x7c00);
    EXPECT_GT(y[2] & 0x7fff, 0x7c00);
    f32_to_bf16(3, big, y.data(), pool);
    EXPECT_GT(y[2] & 0x7fff, 0x7f80);
  });
}

}  // namespace
}  // namespace hone::cpu
