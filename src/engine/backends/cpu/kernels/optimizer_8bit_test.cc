#include "engine/backends/cpu/kernels/optimizer_8bit.h"

#include <algorithm>
#include <bit>

#include "engine/backends/cpu/isa/kernels_test.h"
#include "engine/backends/cpu/kernels/dynamic_codes.h"

namespace hone::cpu {
namespace {

// The nearest value, by a look at all of them; a tie goes to the even code.
int nearest_code(const DynamicMap& map, float x) {
  int best = 0;
  for (int c = 1; c < 256; ++c) {
    const double here = std::fabs(double{x} - double{map.values[c]}),
                 there = std::fabs(double{x} - double{map.values[best]});
    if (here < there || (here == there && c % 2 == 0)) best = c;
  }
  return map.values[best] == 0 && std::signbit(x) ? best - 1 : best;
}

// Both sides of each threshold, each value, and random numbers. Values that were f32 before they
// were divided by two are halfway in f32 alone, so that the middle itself is not looked at.
TEST(Optimizer8bit, CodesAreTheNearest) {
  for (const bool is_signed : {true, false}) {
    const DynamicMap& map = dynamic_codes(is_signed);
    std::vector<float> x{1};
    for (int c = 0; c < 255; ++c) {
      const float middle = (map.values[c] + map.values[c + 1]) * 0.5f;
      for (const float near : {std::nextafter(std::nextafter(middle, -2.0f), -2.0f),
                               std::nextafter(std::nextafter(middle, 2.0f), 2.0f), map.values[c]})
        x.push_back(near);
    }
    Guarded more = random_floats(3000, 7, is_signed ? -1 : 0, 1);
    for (int64_t i = 0; i < more.size(); ++i) x.push_back(more[i] * more[i] * more[i]);
    for (float tiny = 1e-3f; tiny > 0; tiny /= 3) {
      x.push_back(tiny);
      if (is_signed) x.push_back(-tiny);
    }
    for_each_isa([&] {
      for (size_t i = 0; i < x.size(); i += 255) {
        std::vector<float> block{1};  // whose magnitude is 1
        block.insert(block.end(), x.begin() + static_cast<std::ptrdiff_t>(i),
                     x.begin() + static_cast<std::ptrdiff_t>(std::min(i + 255, x.size())));
        std::vector<uint8_t> codes(block.size());
        float absmax = 0;
        ThreadPool pool(1);
        quantize_dynamic(static_cast<int64_t>(block.size()), block.data(), is_signed, codes.data(),
                         &absmax, pool);
        ASSERT_EQ(absmax, 1);
        for (size_t k = 0; k < block.size(); ++k)
          ASSERT_EQ(codes[k], nearest_code(map, block[k])) << block[k];
      }
    });
  }
}

TEST(Optimizer8bit, ExtremeBlocks) {
  for_each_isa([] {
    ThreadPool pool(2);
    std::vector<float> x(600, 0.0f), back(600);
    x[300] = 1e-42f;  // its block: numbers below the normal ones
    x[301] = -1e-44f;
    x[512] = 3e38f;
    x[513] = -INFINITY;  // no code has a meaning, but nothing else is written
    std::vector<uint8_t> codes(600);
    std::vector<float> absmax(3);
    quantize_dynamic(600, x.data(), true, codes.data(), absmax.data(), pool);
    EXPECT_EQ(absmax[0], 0);
    EXPECT_TRUE(std::all_of(codes.begin(), codes.begin() + 256, [](uint8_t c) { return c == 0; }));
    EXPECT_EQ(absmax[1], 1e-42f);
    EXPECT_EQ(codes[300], 255);
    EXPECT_LT(codes[301], 127);
    EXPECT_EQ(codes[302], 127);
    EXPECT_TRUE(std::isinf(absmax[2]));
    dequantize_dynamic(512, codes.data(), absmax.data(), true, back.data(), pool);
    for (int i = 0; i < 256; ++i) ASSERT_EQ(back[i], 0);
    EXPECT_EQ(back[300], 1e-42f);
    EXPECT_EQ(back[302], 0);
  });
}

// A tensor of blocks and a part of one: what the f32 rule makes of the numbers that the codes stand
// for.
TEST(Optimizer8bit, AdamWStepsFromItsCodes) {
  for_each_isa([] {
    const int64_t n = 1000, blocks = 4;
    std::vector<uint8_t> first_codes[2];
    std::vector<float> first_absmax[2];
    for (const int threads : {1, 3}) {
      ThreadPool pool(threads);
      Guarded p = random_floats(n, 1), g = random_floats(n, 2), m0 = random_floats(n, 3),
              v0 = random_floats(n, 4, 0, 1);
      std::vector<uint8_t> codes[2] = {std::vector<uint8_t>(n), std::vector<uint8_t>(n)};
      std::vector<float> absmax[2] = {std::vector<float>(blocks), std::vector<float>(blocks)};
      quantize_dynamic(n, m0.get(), true, codes[0].data(), absmax[0].data(), pool);
      quantize_dynamic(n, v0.get(), false, codes[1].data(), absmax[1].data(), pool);
      Guarded q = random_floats(n, 1), m(n), v(n);
      dequantize_dynamic(n, codes[0].data(), absmax[0].data(), true, m.get(), pool);
      dequantize_dynamic(n, codes[1].data(), absmax[1].data(), false, v.get(), pool);
      for (int64_t i = 0; i < n; ++i) {
        ASSERT_NEAR(m[i], m0[i], 0.01 * absmax[0][i / 256]);
        ASSERT_NEAR(v[i], v0[i], 0.005 * absmax[1][i / 256]);
      }
      const AdamW rule{.beta1 = 0.8, .beta2 = 0.99, .eps = 1e-6};
      const UpdateStep at{.lr = 1e-2, .step = 3, .gradient_scale = 0.5};
      adamw(std::vector<UpdateTensor>{{q.get(), {g.get()}, {m.get(), v.get()}, n, 0.1}}, rule, at,
            pool);
      adamw_8bit(std::vector<Update8bitTensor>{{p.get(),
                                                {g.get()},
                                                {codes[0].data(), codes[1].data()},
                                                {absmax[0].data(), absmax[1].data()},
                                                n,
                                                0.1}},
                 rule, at, pool);
      for (int64_t i = 0; i < n; ++i) ASSERT_EQ(p[i], q[i]);
      for (int k = 0; k < 2; ++k) {
        std::vector<uint8_t> want(n);
        std::vector<float> most(blocks);
        quantize_dynamic(n, k == 0 ? m.get() : v.get(), k == 0, want.data(), most.data(), pool);
        EXPECT_EQ(codes[k], want);
        EXPECT_EQ(absmax[k], most);
        if (threads == 1) first_codes[k] = codes[k], first_absmax[k] = absmax[k];
        EXPECT_EQ(codes[k], first_codes[k]);
        EXPECT_EQ(absmax[k], first_absmax[k]);
      }
      EXPECT_TRUE(p.intact() && g.intact());
    }
  });
}

}  // namespace
}  // namespace hone::cpu
