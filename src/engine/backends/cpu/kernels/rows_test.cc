#include "engine/backends/cpu/kernels/rows.h"

#include "engine/backends/cpu/isa/kernels_test.h"
#include "engine/backends/cpu/kernels/linear_cross_entropy.h"

namespace hone::cpu {
namespace {

TEST(Rows, RopeTurnsAndTurnsBack) {
  for_each_isa([] {
    ThreadPool pool(2);
    const int64_t t = 5, h = 3, d = 20, r = 14, row = h * d + 4;
    Guarded x = random_floats(t * row, 1), y(t * row), back(t * row),
            freq = random_floats(r / 2, 2, 0, 1);
    const std::vector<int32_t> pos = {0, 1, 2, 900, 7};
    Rope p{.tokens = t,
           .heads = h,
           .head_dim = d,
           .rotary = r,
           .inv_freq = freq.get(),
           .positions = pos.data(),
           .x = {x.get(), row, d},
           .y = {y.get(), row, d}};
    Guarded w(rope_workspace_bytes(r, 2) / 4);
    rope(p, w.get(), pool);
    for (int64_t i = 0; i < t; ++i)
      for (int64_t k = 0; k < h; ++k)
        for (int64_t j = 0; j < d; ++j) {
          const float* v = x.get() + i * row + k * d;
          double want = v[j];
          if (j < r) {
            const double a = static_cast<float>(pos[i]) * freq[j % (r / 2)];
            want = j < r / 2 ? v[j] * std::cos(a) - v[j + r / 2] * std::sin(a)
                             : v[j] * std::cos(a) + v[j - r / 2] * std::sin(a);
          }
          EXPECT_NEAR(y[i * row + k * d + j], want, 1e-4);
        }
    p.backward = true;
    p.x = {y.get(), row, d};
    p.y = {back.get(), row, d};
    rope(p, w.get(), pool);
    for (int64_t i = 0; i < t; ++i)
      for (int64_t j = 0; j < h * d; ++j) EXPECT_NEAR(back[i * row + j], x[i * row + j], 1e-6);
    EXPECT_TRUE(y.intact() && back.intact() && w.intact());
  });
}

TEST(Rows, EmbeddingAndItsGradient) {
  for_each_isa([] {
    for (int64_t v : {9, 70000}) {
      const int64_t t = 300, c = 37;
      Guarded table = random_floats(v * c, 1), second = random_floats(t * c, 2), out(t * c);
      std::vector<int32_t> ids(t), pos(t);
      for (int64_t i = 0; i < t; ++i) ids[i] = i * i * 7919 % v, pos[i] = t - 1 - i;
      ids[3] = -1;
      ids[4] = static_cast<int32_t>(v);
      Guarded dy = random_floats(t * c, 3);
      for (int threads : {1, 4}) {
        ThreadPool pool(threads);
        embedding({.tokens = t,
                   .columns = c,
                   .vocabulary = v,
                   .table = table.get(),
                   .ids = ids.data(),
                   .vocabulary2 = t,
                   .table2 = second.get(),
                   .ids2 = pos.data(),
                   .out = out.get()},
                  pool);
        Guarded grad = random_floats(v * c, 4), want = random_floats(v * c, 4);
        Guarded w(embedding_gradient_workspace_bytes(t) / 4);
        embedding_gradient(t, c, v, ids.data(), dy.get(), grad.get(), w.get(), pool);
        for (int64_t i = 0; i < t; ++i)
          for (int64_t j = 0; j < c; ++j) {
            const bool in = ids[i] >= 0 && ids[i] < v;
            ASSERT_EQ(out[i * c + j], (in ? table[ids[i] * c + j] : 0.0f) + second[pos[i] * c + j]);
            if (in) want[ids[i] * c + j] += dy[i * c + j];
          }
        EXPECT_EQ(std::memcmp(grad.get(), want.get(), v * c * 4), 0);
        EXPECT_TRUE(out.intact() && grad.intact() && w.intact());
      }
    }
  });
}

// nll, and the gradient of sum(nll) * scale in the logits, by double loops.
void reference(int64_t rows, int64_t v, const std::vector<double>& x,
               const std::vector<int32_t>& labels, double scale, std::vector<double>& nll,
               std::vector<double>& grad) {
  nll.assign(rows, 0);
  grad.assign(rows * v, 0);
  for (int64_t r = 0; r < rows; ++r) {
    if (labels[r] < 0) continue;
    double top = -1e300, sum = 0;
    for (int64_t j = 0; j < v; ++j) top = std::max(top, x[r * v + j]);
    for (int64_t j = 0; j < v; ++j) sum += std::exp(x[r * v + j] - top);
    nll[r] = std::log(sum) + top - x[r * v + labels[r]];
    for (int64_t j = 0; j < v; ++j)
      grad[r * v + j] = scale * (std::exp(x[r * v + j] - top) / sum - (j == labels[r]));
  }
}

TEST(Rows, CrossEntropy) {
  for_each_isa([] {
    ThreadPool pool(2);
    for (int64_t v : {3, 33, 9001}) {
      const int64_t rows = 4, ld = v + 3;
      Guarded x = random_floats(rows * ld, 1, -30, 30), nll(rows);
      std::vector<int32_t> labels = {0, kIgnoredLabel, static_cast<int32_t>(v - 1), 1};
      std::vector<double> dense(rows * v), want, grad;
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t j = 0; j < v; ++j) dense[r * v + j] = x[r * ld + j];
      reference(rows, v, dense, labels, 0.25, want, grad);
      CrossEntropy c{.rows = rows,
                     .columns = v,
                     .x = x.get(),
                     .ldx = ld,
                     .labels = labels.data(),
                     .scale = 0.25f,
                     .gradient = false,
                     .nll = nll.get()};
      cross_entropy(c, pool);
      EXPECT_LT(relative_error(nll.get(), want), 1e-6);
      c.gradient = true;
      cross_entropy(c, pool);
      EXPECT_LT(relative_error(nll.get(), want), 1e-6);
      Guarded got(rows * v);
      for (int64_t r = 0; r < rows; ++r) std::memcpy(got.get() + r * v, x.get() + r * ld, v * 4);
      EXPECT_LT(relative_error(got.get(), grad), 1e-6);
      EXPECT_TRUE(x.intact() && nll.intact());
    }
  });
}

TEST(Rows, LinearCrossEntropy) {
  for_each_isa([] {
    ThreadPool pool(2);
    for (auto [t, c, v] : {std::array<int64_t, 3>{1100, 8, 51}, {21, 24, 333}}) {
      Guarded x = random_floats(t * c, 1), w = random_floats(v * c, 2), nll(t), dx(t * c);
      Guarded dw = random_floats(v * c, 3), only(t), bias = random_floats(v, 4), dbias(v);
      std::vector<int32_t> labels(t);
      for (int64_t i = 0; i < t; ++i) labels[i] = i % 7 == 2 ? kIgnoredLabel : i * 31 % v;
      std::vector<double> logits(t * v), want, grad, wdx(t * c), wdw(v * c), wdbias(v);
      for (int64_t i = 0; i < t; ++i)
        for (int64_t j = 0; j < v; ++j) {
          logits[i * v + j] = bias[j];
          for (int64_t k = 0; k < c; ++k) logits[i * v + j] += double{x[i * c + k]} * w[j * c + k];
        }
      reference(t, v, logits, labels, 0.01, want, grad);
      for (int64_t j = 0; j < v * c; ++j) wdw[j] = dw[j];
      for (int64_t i = 0; i < t; ++i)
        for (int64_t j = 0; j < v; ++j) {
          wdbias[j] += grad[i * v + j];
          for (int64_t k = 0; k < c; ++k) {
            wdx[i * c + k] += grad[i * v + j] * w[j * c + k];
            wdw[j * c + k] += grad[i * v + j] * x[i * c + k];
          }
        }
      LinearCrossEntropy l{.tokens = t,
                           .columns = c,
                           .vocabulary = v,
                           .x = x.get(),
                           .w = w.get(),
                           .bias = bias.get(),
                           .labels = labels.data(),
                           .scale = 0.01f,
                           .nll = nll.get(),
                           .dx = dx.get(),
                           .dw = dw.get(),
                           .dbias = dbias.get(),
                           .accumulate_dw = true};
      Guarded work(linear_cross_entropy_workspace_bytes(l, 2) / 4, NAN);
      linear_cross_entropy(l, work.get(), pool);
      EXPECT_LT(relative_error(nll.get(), want), 2e-6);
      EXPECT_LT(relative_error(dx.get(), wdx), 3e-6);
      EXPECT_LT(relative_error(dw.get(), wdw), 3e-6);
      EXPECT_LT(relative_error(dbias.get(), wdbias), 3e-6);
      l.dx = l.dw = l.dbias = nullptr;
      l.nll = only.get();
      linear_cross_entropy(l, work.get(), pool);
      EXPECT_EQ(std::memcmp(only.get(), nll.get(), t * 4), 0);
      EXPECT_TRUE(nll.intact() && dx.intact() && dw.intact() && work.intact() && only.intact() &&
                  dbias.intact());
    }
  });
}

}  // namespace
}  // namespace hone::cpu
