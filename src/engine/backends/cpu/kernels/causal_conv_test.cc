// Filters of channels against double loops.
#include "engine/backends/cpu/kernels/causal_conv.h"

#include <algorithm>

#include "engine/backends/cpu/isa/kernels_test.h"

namespace hone::cpu {
namespace {

constexpr int64_t kTokens = 93;
const std::vector<int32_t> kStarts{0, 0, 2, 40, 41, 90};  // three tokens are in no sequence

struct ConvBuffers {
  ConvBuffers(int64_t channels, int64_t taps)
      : channels(channels),
        taps(taps),
        x(random_floats(kTokens * channels, 1)),
        w(random_floats(channels * taps, 2)),
        bias(random_floats(channels, 3)),
        dy(random_floats(kTokens * channels, 4)),
        y(kTokens * channels),
        dx(kTokens * channels),
        dw(channels * taps),
        dbias(channels) {
    b.forward = {.sequences = static_cast<int64_t>(kStarts.size()) - 1,
                 .tokens = kTokens,
                 .channels = channels,
                 .taps = taps,
                 .cu = kStarts.data(),
                 .x = x.get(),
                 .w = w.get(),
                 .bias = bias.get(),
                 .y = y.get()};
    b.dy = dy.get();
    b.dx = dx.get();
    b.dw = dw.get();
    b.dbias = dbias.get();
  }

  void check() {
    std::vector<double> want_y(static_cast<size_t>(y.size())), want_dx = want_y;
    std::vector<double> want_dw(static_cast<size_t>(dw.size())), want_dbias(dbias.size());
    for (size_t s = 0; s + 1 < kStarts.size(); ++s)
      for (int64_t t = kStarts[s]; t < kStarts[s + 1]; ++t)
        for (int64_t c = 0; c < channels; ++c) {
          const double given = dy[t * channels + c];
          want_y[static_cast<size_t>(t * channels + c)] += bias[c];
          want_dbias[static_cast<size_t>(c)] += given;
          for (int64_t j = 0; j < taps; ++j) {
            const int64_t from = t - (taps - 1) + j;
            if (from < kStarts[s]) continue;
            const double tap = w[c * taps + j], row = x[from * channels + c];
            want_y[static_cast<size_t>(t * channels + c)] += tap * row;
            want_dx[static_cast<size_t>(from * channels + c)] += tap * given;
            want_dw[static_cast<size_t>(c * taps + j)] += row * given;
          }
        }
    EXPECT_LT(relative_error(y.get(), want_y), 1e-6);
    EXPECT_LT(relative_error(dx.get(), want_dx), 1e-6);
    EXPECT_LT(relative_error(dw.get(), want_dw), 3e-6);
    EXPECT_LT(relative_error(dbias.get(), want_dbias), 3e-6);
    for (Guarded* g : {&y, &dx, &dw, &dbias}) EXPECT_TRUE(g->intact());
  }

  int64_t channels, taps;
  Guarded x, w, bias, dy, y, dx, dw, dbias;
  CausalConvBackward b;
};

TEST(CausalConv, MatchesDoubleLoops) {
  for_each_isa([&] {
    for (const auto& [channels, taps] : {std::pair<int64_t, int64_t>{1, 1}, {37, 3}, {260, 4}}) {
      std::vector<float> first;
      for (const int threads : {1, 2, 5}) {
        ThreadPool pool(threads);
        ConvBuffers f(channels, taps);
        Guarded work(causal_conv_workspace_bytes(f.b.forward) / 4);
        causal_conv(f.b.forward, work.get(), pool);
        causal_conv_backward(f.b, work.get(), pool);
        f.check();
        EXPECT_TRUE(work.intact());
        std::vector<float> all(f.dw.get(), f.dw.get() + f.dw.size());
        all.insert(all.end(), f.y.get(), f.y.get() + f.y.size());
        if (first.empty()) first = all;
        EXPECT_EQ(all, first) << threads << " threads";
      }
    }
  });
}

}  // namespace
}  // namespace hone::cpu
