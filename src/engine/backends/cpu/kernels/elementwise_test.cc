#include "engine/backends/cpu/kernels/elementwise.h"

#include <algorithm>
#include <functional>

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

double apply(Unary op, double x) {
  switch (op) {
    case Unary::gelu_tanh:
      return 0.5 * x * (1 + std::tanh(std::sqrt(2 / M_PI) * (x + 0.044715 * x * x * x)));
    case Unary::gelu:
      return 0.5 * x * std::erfc(-x / std::sqrt(2.0));
    case Unary::silu:
      return x / (1 + std::exp(-x));
    case Unary::relu:
      return std::max(x, 0.0);
  }
  return 0;
}
double slope(Unary op, double x) { return (apply(op, x + 1e-5) - apply(op, x - 1e-5)) / 2e-5; }
const Unary kAll[] = {Unary::gelu_tanh, Unary::gelu, Unary::silu, Unary::relu};

TEST(Elementwise, UnaryAndGate) {
  for_each_isa([] {
    ThreadPool pool(2);
    for (Unary op : kAll) {
      SCOPED_TRACE(static_cast<int>(op));
      const int64_t n = 1003;
      Guarded x = random_floats(n, 1, -9, 9), d = random_floats(n, 2), y(n), dx(n), da(n), db(n);
      unary(op, n, x.get(), y.get(), pool);
      unary_backward(op, n, x.get(), d.get(), dx.get(), pool);
      for (int64_t i = 0; i < n; ++i) {
        EXPECT_NEAR(y[i], apply(op, x[i]), 4e-7 * std::max(1.0, std::fabs(double{x[i]}))) << x[i];
        EXPECT_NEAR(dx[i], d[i] * slope(op, x[i]), 2e-6) << x[i];
      }
      // halves of rows of 2*17 in one buffer of 3 rows of 40
      const int64_t rows = 3, c = 17, ld = 40;
      Gate g{.op = op,
             .rows = rows,
             .columns = c,
             .a = x.get(),
             .b = x.get() + c,
             .lda = ld,
             .ldb = ld,
             .y = y.get(),
             .ldy = c};
      Guarded out(rows * c), back(rows * ld, 5);
      g.y = out.get();
      gate(g, pool);
      gate_backward({g, d.get(), c, back.get(), back.get() + c, ld, ld}, pool);
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t j = 0; j < c; ++j) {
          const double a = x[r * ld + j], b = x[r * ld + c + j], dy = d[r * c + j];
          EXPECT_NEAR(out[r * c + j], apply(op, a) * b, 4e-5);
          EXPECT_NEAR(back[r * ld + j], dy * b * slope(op, a), 2e-5);
          EXPECT_NEAR(back[r * ld + c + j], dy * apply(op, a), 4e-6);
        }
      EXPECT_EQ(back[2 * c], 5);
      EXPECT_TRUE(y.intact() && dx.intact() && out.intact() && back.intact());
    }
  });
}

TEST(Elementwise, ExtremeArguments) {
  for_each_isa([] {
    ThreadPool pool(1);
    Guarded x(6), y(6);
    const float in[] = {-INFINITY, -200, -88, 88, 200, 0};
    std::copy(in, in + 6, x.get());
    unary(Unary::gelu_tanh, 6, x.get(), y.get(), pool);
    EXPECT_EQ(y[1], 0);
    EXPECT_EQ(y[4], 200);
    unary(Unary::silu, 6, x.get(), y.get(), pool);
    EXPECT_EQ(y[4], 200);
    EXPECT_EQ(y[5], 0);
  });
}

TEST(Elementwise, ArithmeticAndColumnSum) {
  for_each_isa([] {
    for (int threads : {1, 3}) {
      ThreadPool pool(threads);
      const int64_t rows = 13, c = 37, n = rows * c;
      Guarded a = random_floats(n, 1), b = random_floats(n, 2), y(n), s = random_floats(c, 3);
      const Guarded s0 = random_floats(c, 3);
      add(n, a.get(), b.get(), y.get(), pool);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], a[i] + b[i]);
      mul(n, a.get(), b.get(), y.get(), pool);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], a[i] * b[i]);
      axpy(n, 0.5f, b.get(), y.get(), pool);
      for (int64_t i = 0; i < n; ++i) ASSERT_NEAR(y[i], a[i] * b[i] + 0.5f * b[i], 1e-6);
      scale(n, 3.0f, a.get(), y.get(), pool);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], a[i] * 3.0f);
      add_bias(rows, c, a.get(), b.get(), y.get(), pool);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], a[i] + b[i % c]);
      fill(n, 2.5f, y.get(), pool);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(y[i], 2.5f);
      Guarded start = random_floats(c, 3);
      column_sum(rows, c, a.get(), c, true, s.get(), pool);
      for (int64_t j = 0; j < c; ++j) {
        double want = start[j];
        for (int64_t i = 0; i < rows; ++i) want += a[i * c + j];
        EXPECT_NEAR(s[j], want, 4e-6);
      }
      EXPECT_TRUE(y.intact() && s.intact());
    }
  });
}

TEST(Elementwise, ColumnSumsAreTheSameForAnyThreads) {
  for_each_isa([] {
    const int64_t rows = 13, c = 2100;
    Guarded a = random_floats(rows * c, 1);
    std::vector<float> first;
    for (int threads : {1, 2, 3}) {
      ThreadPool pool(threads);
      Guarded s(c, NAN);
      column_sum(rows, c, a.get(), c, false, s.get(), pool);
      for (int64_t j = 0; j < c; ++j) {
        double want = 0;
        for (int64_t i = 0; i < rows; ++i) want += a[i * c + j];
        ASSERT_NEAR(s[j], want, 4e-6);
      }
      EXPECT_TRUE(s.intact());
      if (first.empty()) first.assign(s.get(), s.get() + c);
      EXPECT_TRUE(std::equal(first.begin(), first.end(), s.get()));
    }
  });
}

TEST(Elementwise, DropoutFollowsTheDefinition) {
  for_each_isa([] {
    ThreadPool pool(2);
    const int64_t rows = 5, c = 203;
    Guarded x = random_floats(rows * c, 1), r = random_floats(rows * c, 2), y(rows * c);
    const std::vector<int64_t> ids = {3, 3, (9ll << 32) + 1, 0, 7};
    const std::vector<int32_t> pos = {0, 1, 500, 2, 3};
    dropout({.rows = rows,
             .columns = c,
             .x = x.get(),
             .residual = r.get(),
             .y = y.get(),
             .p = 0.3,
             .key = {5, 6},
             .sample_ids = ids.data(),
             .positions = pos.data()},
            pool);
    for (int64_t i = 0; i < rows; ++i)
      for (int64_t j = 0; j < c; ++j) {
        const bool kept = dropout_word({5, 6}, ids[i], pos[i], j) >= dropout_threshold(0.3);
        ASSERT_EQ(y[i * c + j], (kept ? x[i * c + j] * dropout_scale(0.3) : 0) + r[i * c + j]);
      }
    EXPECT_TRUE(y.intact());
  });
}

}  // namespace
}  // namespace hone::cpu
