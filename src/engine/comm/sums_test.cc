// Sums over ranks are those of a plain loop, bit for bit.
#include "engine/comm/sums.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <random>

namespace hone {
namespace {

std::vector<const std::byte*> terms_of(const std::vector<std::vector<std::byte>>& blocks) {
  std::vector<const std::byte*> terms;
  for (const auto& b : blocks) terms.push_back(b.data());
  return terms;
}

template <class T>
std::vector<std::byte> block_of(const std::vector<T>& values) {
  std::vector<std::byte> block(values.size() * sizeof(T));
  std::memcpy(block.data(), values.data(), block.size());
  return block;
}

TEST(Sums, TypesWithASum) {
  for (const DType t : {DType::f64, DType::f32, DType::bf16, DType::f16, DType::i64, DType::i32})
    EXPECT_TRUE(has_sum(t)) << name_of(t);
  for (const DType t : {DType::i8, DType::u8, DType::boolean}) EXPECT_FALSE(has_sum(t));
}

TEST(Sums, AreTakenFromTheLeft) {
  // 2^24 + 1 + 1 is 2^24 from the left in f32, and 2^24 + 2 from the right.
  const std::vector<std::vector<std::byte>> blocks = {
      block_of<float>({16777216.0f}), block_of<float>({1.0f}), block_of<float>({1.0f})};
  float sum = 0;
  sum_terms(DType::f32, 1, terms_of(blocks), reinterpret_cast<std::byte*>(&sum), nullptr);
  EXPECT_EQ(sum, 16777216.0f);
}

TEST(Sums, NarrowTypesAreRoundedOnce) {
  // 256 + 1 + 1: each bf16 step would round back to 256; the sum in f32 is 258.
  std::vector<std::vector<std::byte>> blocks;
  for (const float x : {256.0f, 1.0f, 1.0f}) blocks.push_back(block_of<uint16_t>({f32_to_bf16(x)}));
  uint16_t sum = 0;
  sum_terms(DType::bf16, 1, terms_of(blocks), reinterpret_cast<std::byte*>(&sum), nullptr);
  EXPECT_EQ(bf16_to_f32(sum), 258.0f);
}

// Every value of two bytes, as a sum of itself alone and with another one.
TEST(Sums, EveryNarrowValueIsWidenedAndRoundedAsInTheGraph) {
  std::vector<uint16_t> all(65536), other(65536);
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = static_cast<uint16_t>(i);
    other[i] = static_cast<uint16_t>(i * 40503u);
  }
  const std::vector<std::vector<std::byte>> blocks = {block_of(all), block_of(other)};
  for (const DType t : {DType::bf16, DType::f16}) {
    const auto widen = t == DType::bf16 ? bf16_to_f32 : f16_to_f32;
    const auto narrow = t == DType::bf16 ? f32_to_bf16 : f32_to_f16;
    std::vector<uint16_t> got(all.size());
    sum_terms(t, 65536, terms_of(blocks), reinterpret_cast<std::byte*>(got.data()), nullptr);
    for (size_t i = 0; i < all.size(); ++i) {
      const float x = widen(all[i]), y = widen(other[i]);
      if (std::isnan(x) && std::isnan(y)) continue;  // either payload
      ASSERT_EQ(got[i], narrow(x + y)) << name_of(t) << " " << x << " + " << y;
    }
  }
}

TEST(Sums, IntegersWrapAround) {
  const std::vector<std::vector<std::byte>> blocks = {block_of<int64_t>({INT64_MAX, -5}),
                                                      block_of<int64_t>({1, 7})};
  std::vector<int64_t> sum(2);
  sum_terms(DType::i64, 2, terms_of(blocks), reinterpret_cast<std::byte*>(sum.data()), nullptr);
  EXPECT_EQ(sum, (std::vector<int64_t>{INT64_MIN, 2}));
}

TEST(Sums, BitsDependNeitherOnThreadsNorOnTheResultsPlace) {
  constexpr size_t kCount = 200003;
  std::mt19937 random(7);
  std::normal_distribution<float> normal;
  std::vector<std::vector<std::byte>> blocks;
  std::vector<std::vector<float>> values(3, std::vector<float>(kCount));
  for (auto& v : values) {
    for (float& x : v) x = normal(random);
    blocks.push_back(block_of(v));
  }
  std::vector<float> expected(kCount);
  for (size_t i = 0; i < kCount; ++i) expected[i] = (values[0][i] + values[1][i]) + values[2][i];
  const std::vector<std::byte> wanted = block_of(expected);
  ThreadPool pool(3);
  std::vector<std::byte> got(wanted.size());
  sum_terms(DType::f32, kCount, terms_of(blocks), got.data(), nullptr);
  EXPECT_EQ(got, wanted);
  for (size_t into = 0; into < 3; ++into) {
    auto copies = blocks;
    sum_terms(DType::f32, kCount, terms_of(copies), copies[into].data(), &pool);
    EXPECT_EQ(copies[into], wanted) << "into term " << into;
  }
}

TEST(Sums, ATypeWithoutASumIsABug) {
  const std::byte x{};
  const std::byte* term = &x;
  std::byte out{};
  EXPECT_THROW(sum_terms(DType::u8, 1, {&term, 1}, &out, nullptr), Bug);
}

}  // namespace
}  // namespace hone
