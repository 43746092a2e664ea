#include "operate/registry/metric_interval.h"

#include <gtest/gtest.h>

#include <cmath>

namespace hone {
namespace {

Evaluation three_of_four(int rows) {
  Evaluation e;
  for (int i = 0; i < rows; ++i)
    e.rows.push_back({std::to_string(i), "", "", {{"accuracy", i % 4 == 0 ? 0 : 1}}, {}});
  return e;
}

TEST(MetricInterval, HoldsTheValueAndShrinksWithRows) {
  const auto interval_of = [](int rows) {
    return metric_interval(three_of_four(rows), "accuracy").value();
  };
  const MetricInterval few = interval_of(20), many = interval_of(2000);
  for (const MetricInterval& m : {few, many}) {
    EXPECT_EQ(m.value, 0.75);
    EXPECT_LT(m.low, m.value);
    EXPECT_GT(m.high, m.value);
  }
  EXPECT_NEAR(few.high - few.low, 2 * 1.96 * std::sqrt(0.75 * 0.25 / 20), 0.06);
  EXPECT_NEAR(many.high - many.low, 2 * 1.96 * std::sqrt(0.75 * 0.25 / 2000), 0.006);
  EXPECT_FALSE(metric_interval(three_of_four(4), "rouge1").ok());
}

}  // namespace
}  // namespace hone
