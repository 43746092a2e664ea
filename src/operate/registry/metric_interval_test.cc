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

TEST(MetricInterval, WithoutASpreadIsNoInterval) {
  EXPECT_EQ(interval_text(0.1, 0.4, 87, 4), "interval 0.1 to 0.4, 87 rows");
  EXPECT_EQ(interval_text(0, 0, 8, 4), "the same in all 8 rows");
  EXPECT_EQ(interval_text(1, 1, 1, 4), "one row");
}

// The correlation of the drawn rows, and their average precision.
TEST(MetricInterval, NumbersAreComparedWithTheWantedOnes) {
  Evaluation e;
  for (int i = 0; i < 40; ++i) {
    const double wanted = i % 2, predicted = wanted + (i % 8 == 0 ? 2 : 0);
    e.rows.push_back(
        {std::to_string(i), "", "", {{"predicted", predicted}, {"wanted", wanted}}, {}});
  }
  // Five of the 20 rows that want 0 are above the 20 that want 1.
  EXPECT_NEAR(metric_interval(e, "average_precision").value().value, 20.0 / 25, 1e-12);
  const MetricInterval pearson = metric_interval(e, "pearson_cosine").value();
  EXPECT_GT(pearson.high, pearson.low);
  EXPECT_NEAR(pearson.value, 0, 1);
  EXPECT_FALSE(metric_interval(e, "accuracy").ok());
}

}  // namespace
}  // namespace hone
