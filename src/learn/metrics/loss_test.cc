#include "learn/metrics/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace hone {
namespace {

TEST(EvalLoss, WeighsBatchesByTheirRows) {
  EvalLoss loss(2);
  loss.add(2, 9, 3);  // the short last batch, first to arrive: mean 3 over 1 row
  loss.add(0, 4, 3);
  loss.add(1, 2, 1);  // (4 + 2) / 4 = 1.5 over 2 rows
  EXPECT_DOUBLE_EQ(loss.eval_loss(), (1.5 * 2 + 3.0) / 3);
  EXPECT_DOUBLE_EQ(loss.eval_loss_per_token(), 15.0 / 7);
  EvalLoss a(2), b(2);
  a.add(0, 4, 3);
  b.add(1, 2, 1);
  b.add(2, 9, 3);
  a.merge(b);
  EXPECT_DOUBLE_EQ(a.eval_loss(), loss.eval_loss());
  EXPECT_EQ(a.rows(), 3);
}

TEST(EvalLoss, LeavesOutWhatIsNotFiniteIfAnythingIs) {
  EvalLoss loss(1);
  EXPECT_TRUE(std::isnan(loss.eval_loss()));
  loss.add(0, std::numeric_limits<double>::quiet_NaN(), 3);
  EXPECT_TRUE(std::isnan(loss.eval_loss()));
  loss.add(1, 6, 3);
  loss.add(2, 0, 0);  // no label token: 0 / 0
  EXPECT_DOUBLE_EQ(loss.eval_loss(), 2);
}

TEST(Perplexity, OverflowsToInfinity) {
  EXPECT_DOUBLE_EQ(perplexity(0), 1);
  EXPECT_EQ(perplexity(1000), std::numeric_limits<double>::infinity());
}

TEST(Accuracy, IsAShare) {
  Accuracy accuracy;
  EXPECT_TRUE(std::isnan(accuracy.value()));
  accuracy.add(3, 4);
  accuracy.add(0, 2);
  EXPECT_DOUBLE_EQ(accuracy.value(), 0.5);
}

TEST(TrainLoss, MeansSinceTheLastLogAndOfTheRun) {
  TrainLoss loss;
  loss.add(4);
  loss.add(2);
  EXPECT_DOUBLE_EQ(loss.take_mean(), 3);
  TrainLoss resumed;
  resumed.restore(loss.state());
  resumed.add(1.5);
  EXPECT_DOUBLE_EQ(resumed.take_mean(), 1.5);
  EXPECT_DOUBLE_EQ(resumed.run_mean(), 2.5);
}

TEST(TrainLoss, AStepWithoutLabelsCountsAsTransformersCountsIt) {
  TrainLoss loss;
  EXPECT_DOUBLE_EQ(loss.loss_without_labels(), 0);
  loss.add(4);
  loss.add(2);
  EXPECT_DOUBLE_EQ(loss.loss_without_labels(), 2);  // 6 / (1 + 2)
  loss.take_mean();
  EXPECT_DOUBLE_EQ(loss.loss_without_labels(), 0);
}

}  // namespace
}  // namespace hone
