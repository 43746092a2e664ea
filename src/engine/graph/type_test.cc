#include "engine/graph/type.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>

namespace hone {
namespace {

TEST(Half, EveryValueRoundTrips) {
  for (uint32_t i = 0; i < 0x10000; ++i) {
    auto h = static_cast<uint16_t>(i);
    float x = f16_to_f32(h);
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(f16_to_f32(f32_to_f16(x)))) << i;
    else
      EXPECT_EQ(f32_to_f16(x), h) << i;
  }
  EXPECT_EQ(f16_to_f32(0x3c00), 1.0f);
  EXPECT_EQ(f16_to_f32(0x0001), 0x1p-24f);
  EXPECT_EQ(f16_to_f32(0x7bff), 65504.0f);
  EXPECT_EQ(f16_to_f32(0xfc00), -INFINITY);
}

// Halfway between neighbours goes to the even one; a hair beside it to the nearer one.
TEST(Half, RoundsToNearestEven) {
  for (uint32_t i = 0; i < 0x7bff; ++i) {
    float low = f16_to_f32(static_cast<uint16_t>(i)),
          high = f16_to_f32(static_cast<uint16_t>(i + 1));
    float middle = low + (high - low) / 2;
    ASSERT_EQ(f32_to_f16(middle), i + (i & 1)) << i;
    ASSERT_EQ(f32_to_f16(std::nextafter(middle, 0.0f)), i) << i;
    ASSERT_EQ(f32_to_f16(-std::nextafter(middle, 1e9f)), (i + 1) | 0x8000) << i;
  }
  EXPECT_EQ(f32_to_f16(65519.99f), 0x7bff);
  EXPECT_EQ(f32_to_f16(65520.0f), 0x7c00);
  EXPECT_EQ(f32_to_f16(1e-30f), 0);
}

TEST(Bf16, RoundsToNearestEven) {
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808000u)), 0x3f80);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f818000u)), 0x3f82);
  EXPECT_EQ(f32_to_bf16(std::bit_cast<float>(0x3f808001u)), 0x3f81);
  EXPECT_TRUE(std::isnan(bf16_to_f32(f32_to_bf16(std::bit_cast<float>(0x7f800001u)))));
  EXPECT_EQ(bf16_to_f32(f32_to_bf16(-2.5f)), -2.5f);
}

TEST(Type, Text) {
  Type t{DType::f32, {8, 512}};
  EXPECT_EQ(t.text(), "f32[8,512]");
  EXPECT_EQ(t.bytes(), 16384);
  EXPECT_EQ((Type{DType::boolean, {}}).text(), "bool[]");
  EXPECT_FALSE(dtype_named("f31").ok());
}

}  // namespace
}  // namespace hone
