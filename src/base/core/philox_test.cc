#include "base/core/philox.h"

#include <gtest/gtest.h>

namespace hone {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox4x32({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  const uint32_t f = 0xffffffff;
  EXPECT_EQ(philox4x32({f, f, f, f}, {f, f}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox4x32({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Philox, ScopeHashIsFnv1a) {
  EXPECT_EQ(scope_hash(""), 0xcbf29ce484222325ull);
  EXPECT_EQ(scope_hash("a"), 0xaf63dc4c8601ec8cull);
  EXPECT_EQ(scope_hash("foobar"), 0x85944171f73967e8ull);
}

TEST(Philox, KeysDifferBySeedStepAndScope) {
  const DropoutKey a = dropout_key(1, 2, 3);
  for (const DropoutKey b : {dropout_key(2, 2, 3), dropout_key(1, 3, 3), dropout_key(1, 2, 4),
                             dropout_key(1 + (1ull << 32), 2, 3)})
    EXPECT_FALSE(a.k0 == b.k0 && a.k1 == b.k1);
}

TEST(Philox, MaskLayout) {
  const DropoutKey key{7, 9};
  const int64_t sample = (5ll << 32) + 3;
  EXPECT_EQ(dropout_word(key, sample, 11, 64 + 2 * 16 + 5), philox4x32({3, 5, 11, 16 + 5}, key)[2]);
  EXPECT_EQ(attention_dropout_word(key, sample, 4, 11, 3 * 16 + 1),
            philox4x32({3, (5u << 16) ^ 4u, 11, 1}, key)[3]);
}

TEST(Philox, ThresholdAndRate) {
  EXPECT_EQ(dropout_threshold(0), 0u);
  EXPECT_EQ(dropout_threshold(0.5), 0x80000000u);
  EXPECT_EQ(dropout_threshold(0.1), 429496730u);
  int dropped = 0;
  for (int c = 0; c < 20000; ++c) dropped += dropout_word({1, 2}, 0, 0, c) < dropout_threshold(0.1);
  EXPECT_NEAR(dropped / 20000.0, 0.1, 0.01);
}

TEST(Philox, Stream) {
  PhiloxStream s({1, 2});
  double mean = 0, square = 0;
  for (int i = 0; i < 10000; ++i) {
    const double x = s.next_normal();
    mean += x / 10000;
    square += x * x / 10000;
  }
  EXPECT_NEAR(mean, 0, 0.05);
  EXPECT_NEAR(square, 1, 0.05);
}

TEST(Philox, StreamFromABlock) {
  PhiloxStream whole({1, 2});
  for (int i = 0; i < 7; ++i) whole.next_normal();
  PhiloxStream rest({1, 2}, 7);
  EXPECT_EQ(rest.next_normal(), whole.next_normal());
  EXPECT_EQ(rest.next_uniform(), whole.next_uniform());
}

}  // namespace
}  // namespace hone
