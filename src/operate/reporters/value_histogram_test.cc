#include "operate/reporters/value_histogram.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <random>

#include "base/core/threads.h"

namespace hone {
namespace {

template <class T>
ValueHistogram histogram_of(DType dtype, const std::vector<T>& values, int threads = 1) {
  ThreadPool pool(threads);
  ValueHistogram h;
  h.add(dtype, std::as_bytes(std::span(values)), pool);
  return h;
}

// The limits as TensorFlow computes them, and its search.
std::vector<double> tensorflow_limits() {
  std::vector<double> limits;
  for (double v = 1e-12; v < 1e20; v *= 1.1) limits.push_back(v);
  limits.push_back(std::numeric_limits<double>::max());
  std::vector<double> all;
  for (size_t i = limits.size(); i-- > 0;) all.push_back(-limits[i]);
  all.push_back(0);
  all.insert(all.end(), limits.begin(), limits.end());
  return all;
}

// By upper limit, the ranges that are not empty.
std::vector<std::pair<double, int64_t>> filled(const ValueHistogram& h) {
  std::vector<std::pair<double, int64_t>> all = h.buckets();
  std::erase_if(all, [](const auto& bucket) { return bucket.second == 0; });
  return all;
}

TEST(ValueHistogram, EveryFloatIsInItsRange) {
  std::vector<float> values{0.f, -0.f, 1e-12f, -1e-12f, 1e-45f, -1e-45f, 1e20f, 3.4e38f, -3.4e38f};
  std::mt19937 random(3);
  for (int i = 0; i < 200000; ++i) {
    const float v = std::bit_cast<float>(static_cast<uint32_t>(random()));
    if (std::isfinite(v)) values.push_back(v);
  }
  const std::vector<double> limits = tensorflow_limits();
  for (const double limit : limits)  // and the floats at both sides of each limit
    if (const auto v = static_cast<float>(limit); std::isfinite(v))
      values.insert(values.end(), {v, std::nextafterf(v, INFINITY), std::nextafterf(v, -INFINITY)});
  std::erase_if(values, [](float v) { return !std::isfinite(v); });
  std::vector<int64_t> want(limits.size());
  double squares = 0;
  for (const float v : values) {
    ++want[static_cast<size_t>(std::upper_bound(limits.begin(), limits.end(), v) - limits.begin())];
    squares += double(v) * double(v);
  }
  std::vector<std::pair<double, int64_t>> found;
  for (size_t i = 0; i < limits.size(); ++i)
    if (want[i] > 0) found.emplace_back(limits[i], want[i]);
  const ValueHistogram h = histogram_of(DType::f32, values);
  EXPECT_EQ(filled(h), found);
  EXPECT_EQ(h.num(), static_cast<int64_t>(values.size()));
  EXPECT_NEAR(h.sum_squares() / squares, 1, 1e-12);
  EXPECT_EQ(h.min(), *std::min_element(values.begin(), values.end()));
  EXPECT_EQ(h.max(), *std::max_element(values.begin(), values.end()));
}

TEST(ValueHistogram, EmptyRangesAreOneRange) {
  const auto buckets = histogram_of<float>(DType::f32, {-1, 0, 2, 2}).buckets();
  ASSERT_EQ(buckets.size(), 7u);  // empty, -1, empty, 0, empty, 2, empty
  for (size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(buckets[i].second > 0, i % 2 == 1);
    if (i > 0) {
      EXPECT_LT(buckets[i - 1].first, buckets[i].first);
    }
  }
  EXPECT_EQ(buckets[2].first, 0);  // the limit below 0 belongs to the range of 0
  EXPECT_EQ(buckets[5].second, 2);
  EXPECT_EQ(buckets[6].first, std::numeric_limits<double>::max());
}

TEST(ValueHistogram, WhatIsNotFiniteIsCountedApart) {
  const ValueHistogram h = histogram_of<float>(DType::f32, {NAN, 1, INFINITY, -INFINITY, -3});
  EXPECT_EQ(h.num(), 2);
  EXPECT_EQ(h.not_finite(), 3);
  EXPECT_EQ(h.min(), -3);
  EXPECT_EQ(h.max(), 1);
  EXPECT_EQ(h.sum(), -2);
  const ValueHistogram none = histogram_of<float>(DType::f32, {NAN});
  EXPECT_EQ(none.num(), 0);
  EXPECT_EQ(none.min(), 0);
  EXPECT_EQ(none.max(), 0);
}

TEST(ValueHistogram, TypesOfTwoBytesCountAsTheirValues) {
  const std::vector<float> values{-1.5f, 0.25f, 3.f, 0.f};
  std::vector<uint16_t> bf16, f16;
  for (const float v : values) {
    bf16.push_back(f32_to_bf16(v));
    f16.push_back(f32_to_f16(v));
  }
  const ValueHistogram want = histogram_of(DType::f32, values);
  for (const ValueHistogram& h : {histogram_of(DType::bf16, bf16), histogram_of(DType::f16, f16)}) {
    EXPECT_EQ(h.buckets(), want.buckets());
    EXPECT_EQ(h.sum(), want.sum());
  }
}

TEST(ValueHistogram, ThreadsDoNotChangeABit) {
  std::mt19937 random(4);
  std::normal_distribution<float> normal;
  std::vector<float> values(100001);
  for (float& v : values) v = normal(random);
  const ValueHistogram one = histogram_of(DType::f32, values, 1);
  for (const int threads : {2, 3, 7}) {
    const ValueHistogram many = histogram_of(DType::f32, values, threads);
    EXPECT_EQ(many.buckets(), one.buckets());
    EXPECT_EQ(many.sum(), one.sum());
    EXPECT_EQ(many.sum_squares(), one.sum_squares());
  }
}

}  // namespace
}  // namespace hone
