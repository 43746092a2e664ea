#include "engine/backends/cpu/kernels/norms.h"

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

void check_norms(NormKind kind, int64_t rows, int64_t c, bool residual, int threads) {
  SCOPED_TRACE(fmt::format("kind {} rows {} columns {} residual {} threads {}",
                           static_cast<int>(kind), rows, c, residual, threads));
  ThreadPool pool(threads);
  const bool layer = kind == NormKind::layer;
  Guarded a = random_floats(rows * c, 1, -1, 3), b = random_floats(rows * c, 2);
  Guarded gamma = random_floats(c, 3), beta = random_floats(c, 4), dy = random_floats(rows * c, 5);
  Guarded ds = random_floats(rows * c, 6), dgamma(c), dbeta(c);
  Guarded sum(rows * c), y(rows * c), mean(rows), rstd(rows), dx(rows * c);
  std::vector<double> wy(rows * c), wdx(rows * c), wdg(c), wdb(c);
  const double eps = 1e-5;
  for (int64_t i = 0; i < rows; ++i) {
    std::vector<double> x(c);
    double mu = 0, var = 0, g0 = 0, gx = 0;
    for (int64_t j = 0; j < c; ++j) x[j] = a[i * c + j] + (residual ? b[i * c + j] : 0.0f);
    if (layer)
      for (double v : x) mu += v / c;
    for (double v : x) var += (v - mu) * (v - mu) / c;
    const double r = 1 / std::sqrt(var + eps);
    for (int64_t j = 0; j < c; ++j) {
      const double xhat = (x[j] - mu) * r, d = dy[i * c + j], g = d * gamma[j];
      wy[i * c + j] = xhat * gamma[j] + (layer ? beta[j] : 0);
      wdg[j] += d * xhat;
      wdb[j] += d;
      g0 += g / c;
      gx += g * xhat / c;
    }
    for (int64_t j = 0; j < c; ++j)
      wdx[i * c + j] = r * (dy[i * c + j] * gamma[j] - (layer ? g0 : 0) - (x[j] - mu) * r * gx) +
                       (residual ? ds[i * c + j] : 0.0f);
  }
  norm({.kind = kind,
        .rows = rows,
        .columns = c,
        .input = a.get(),
        .residual = residual ? b.get() : nullptr,
        .sum = sum.get(),
        .gamma = gamma.get(),
        .beta = layer ? beta.get() : nullptr,
        .y = y.get(),
        .mean = mean.get(),
        .rstd = rstd.get()},
       pool);
  EXPECT_LT(relative_error(y.get(), wy), 2e-6);
  Guarded w(norm_backward_workspace_bytes(rows, c) / 4, NAN);
  norm_backward({.kind = kind,
                 .rows = rows,
                 .columns = c,
                 .x = residual ? sum.get() : a.get(),
                 .gamma = gamma.get(),
                 .mean = mean.get(),
                 .rstd = rstd.get(),
                 .dy = dy.get(),
                 .dsum = residual ? ds.get() : nullptr,
                 .dx = dx.get(),
                 .dgamma = dgamma.get(),
                 .dbeta = layer ? dbeta.get() : nullptr},
                w.get(), pool);
  EXPECT_LT(relative_error(dx.get(), wdx), 5e-6);
  EXPECT_LT(relative_error(dgamma.get(), wdg), 5e-6);
  if (layer) {
    EXPECT_LT(relative_error(dbeta.get(), wdb), 5e-6);
  }
  EXPECT_TRUE(sum.intact() && y.intact() && mean.intact() && rstd.intact() && dx.intact() &&
              dgamma.intact() && dbeta.intact() && w.intact());
}

TEST(Norms, MatchDoubleLoops) {
  for_each_isa([] {
    for (NormKind kind : {NormKind::layer, NormKind::rms})
      for (int64_t c : {5, 16, 67, 768})
        for (bool residual : {false, true}) {
          check_norms(kind, 9, c, residual, 1);
          check_norms(kind, 2, c, residual, 3);
          check_norms(kind, 131, c, residual, 2);  // several leaves, the last one short
        }
  });
}

}  // namespace
}  // namespace hone::cpu
