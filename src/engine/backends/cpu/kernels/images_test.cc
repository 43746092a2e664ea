#include "engine/backends/cpu/kernels/images.h"

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

void check_batch_norm(int64_t rows, int64_t counted, int64_t columns, int threads) {
  ThreadPool pool(threads);
  Guarded x = random_floats(rows * columns, 1, 2, 5), dy = random_floats(rows * columns, 2),
          gamma = random_floats(columns, 3), beta = random_floats(columns, 4);
  const auto at = [&](Guarded& g, int64_t r, int64_t c) { return double{g[r * columns + c]}; };
  std::vector<double> mean, variance, y(static_cast<size_t>(rows * columns)), dx(y), dgamma, dbeta;
  for (int64_t c = 0; c < columns; ++c) {
    double m = 0, v = 0, dg = 0, db = 0;
    const auto n = static_cast<double>(counted);
    for (int64_t r = 0; r < counted; ++r) m += at(x, r, c) / n;
    for (int64_t r = 0; r < counted; ++r) v += std::pow(at(x, r, c) - m, 2) / n;
    const double rstd = 1 / std::sqrt(v + 1e-5);
    for (int64_t r = 0; r < counted; ++r) {
      db += at(dy, r, c);
      dg += at(dy, r, c) * (at(x, r, c) - m) * rstd;
    }
    for (int64_t r = 0; r < rows; ++r) {
      const double hat = (at(x, r, c) - m) * rstd;
      const auto i = static_cast<size_t>(r * columns + c);
      y[i] = hat * double{gamma[c]} + double{beta[c]};
      dx[i] = r < counted ? double{gamma[c]} * rstd * (at(dy, r, c) - db / n - hat * dg / n) : 0;
    }
    mean.push_back(m);
    variance.push_back(v);
    dgamma.push_back(dg);
    dbeta.push_back(db);
  }
  Guarded got_y(rows * columns), got_mean(columns), got_variance(columns), got_dx(rows * columns),
      got_dgamma(columns), got_dbeta(columns);
  Guarded work(batch_norm_workspace_bytes(rows, columns) / 4, NAN),
      work_back(batch_norm_backward_workspace_bytes(rows, columns) / 4, NAN);
  batch_norm({.rows = rows,
              .counted = counted,
              .columns = columns,
              .x = x.get(),
              .gamma = gamma.get(),
              .beta = beta.get(),
              .y = got_y.get(),
              .mean = got_mean.get(),
              .variance = got_variance.get()},
             work.get(), pool);
  batch_norm_backward({.rows = rows,
                       .counted = counted,
                       .columns = columns,
                       .x = x.get(),
                       .gamma = gamma.get(),
                       .mean = got_mean.get(),
                       .variance = got_variance.get(),
                       .dy = dy.get(),
                       .dx = got_dx.get(),
                       .dgamma = got_dgamma.get(),
                       .dbeta = got_dbeta.get()},
                      work_back.get(), pool);
  EXPECT_LT(relative_error(got_mean.get(), mean), 3e-6);
  EXPECT_LT(relative_error(got_variance.get(), variance), 2e-6);
  EXPECT_LT(relative_error(got_y.get(), y), 5e-6);
  EXPECT_LT(relative_error(got_dx.get(), dx), 1e-5);
  EXPECT_LT(relative_error(got_dgamma.get(), dgamma), 1e-5);
  EXPECT_LT(relative_error(got_dbeta.get(), dbeta), 1e-5);
  EXPECT_TRUE(got_y.intact() && got_mean.intact() && got_variance.intact() && got_dx.intact() &&
              got_dgamma.intact() && got_dbeta.intact() && work.intact() && work_back.intact());
}

TEST(Images, BatchNormsMatchDoubleLoops) {
  for_each_isa([] {
    for (const int64_t columns : {5, 16, 67, 260}) {
      check_batch_norm(9, 9, columns, 1);
      check_batch_norm(40, 23, columns, 3);
      check_batch_norm(700, 700, columns, 2);  // several leaves
    }
  });
}

// Convolutions by channel and maxima over windows, and their gradients, as loops over windows.
void check_windows(const Windows2d& p, int threads) {
  ThreadPool pool(threads);
  const int64_t c = p.channels, taps = p.kernel_h * p.kernel_w,
                pixels = p.images * p.height * p.width * c,
                places = p.images * p.out_h * p.out_w * c;
  Guarded x = random_floats(pixels, 1), w = random_floats(taps * c, 2), b = random_floats(c, 3),
          dy = random_floats(places, 4);
  std::vector<double> y(static_cast<size_t>(places)), dx(static_cast<size_t>(pixels)),
      dw(static_cast<size_t>(taps * c)), most(y), dmost(dx);
  for (int64_t place = 0; place < places; ++place) {
    const int64_t k = place % c, j = place / c % p.out_w, i = place / c / p.out_w % p.out_h,
                  image = place / c / p.out_w / p.out_h;
    double sum = double{b[k]}, largest = -1e30;
    int64_t found = 0;
    for (int64_t t = 0; t < taps; ++t) {
      const int64_t row = i * p.stride_h - p.top + t / p.kernel_w * p.dilation_h,
                    column = j * p.stride_w - p.left + t % p.kernel_w * p.dilation_w;
      if (row < 0 || row >= p.height || column < 0 || column >= p.width) continue;
      const int64_t from = ((image * p.height + row) * p.width + column) * c + k;
      const double v = double{x[from]}, d = double{dy[place]};
      sum += v * double{w[t * c + k]};
      dx[static_cast<size_t>(from)] += d * double{w[t * c + k]};
      dw[static_cast<size_t>(t * c + k)] += d * v;
      if (v > largest) largest = v, found = from;
    }
    y[static_cast<size_t>(place)] = sum;
    most[static_cast<size_t>(place)] = largest;
    dmost[static_cast<size_t>(found)] += double{dy[place]};
  }
  Guarded got_y(places), got_dx(pixels), got_dw(taps * c), got_most(places), got_dmost(pixels),
      work(channel_conv_workspace_bytes(p) / 4, NAN);
  channel_conv(p, x.get(), w.get(), b.get(), got_y.get(), pool);
  channel_conv_input_gradient(p, dy.get(), w.get(), false, got_dx.get(), pool);
  channel_conv_weight_gradient(p, dy.get(), x.get(), got_dw.get(), work.get(), pool);
  max_pool(p, x.get(), got_most.get(), pool);
  max_pool_backward(p, x.get(), got_most.get(), dy.get(), got_dmost.get(), pool);
  EXPECT_LT(relative_error(got_y.get(), y), 1e-6);
  EXPECT_LT(relative_error(got_dx.get(), dx), 1e-6);
  EXPECT_LT(relative_error(got_dw.get(), dw), 2e-6);
  EXPECT_LT(relative_error(got_most.get(), most), 1e-9);
  EXPECT_LT(relative_error(got_dmost.get(), dmost), 1e-6);
  EXPECT_TRUE(got_y.intact() && got_dx.intact() && got_dw.intact() && got_most.intact() &&
              got_dmost.intact() && work.intact());
}

TEST(Images, WindowsMatchDoubleLoops) {
  for_each_isa([] {
    for (const int64_t channels : {3, 16, 75}) {
      check_windows({.images = 2,
                     .height = 7,
                     .width = 9,
                     .channels = channels,
                     .out_h = 7,
                     .out_w = 9,
                     .kernel_h = 3,
                     .kernel_w = 3,
                     .top = 1,
                     .left = 1},
                    1);
      check_windows({.images = 3,
                     .height = 9,
                     .width = 8,
                     .channels = channels,
                     .out_h = 4,
                     .out_w = 3,
                     .kernel_h = 3,
                     .kernel_w = 2,
                     .stride_h = 2,
                     .stride_w = 3,
                     .top = 1,
                     .left = 0,
                     .dilation_h = 2,
                     .dilation_w = 1},
                    3);
    }
  });
}

}  // namespace
}  // namespace hone::cpu
