#include "learn/train/callback.h"

#include <gmock/gmock.h>

namespace hone {
namespace {

using testing::HasSubstr;

TrainSettings best_by_steps() {
  TrainSettings s;
  s.load_best_model_at_end = true;
  s.eval_strategy = "steps";
  s.eval_steps = 20;
  s.save_steps = 40;
  return s;
}

std::string refusal(const TrainSettings& s) {
  const Status status = check_strategies(s);
  return status.ok() ? "" : status.error().text();
}

TEST(BestModel, StrategiesMustFit) {
  TrainSettings s = best_by_steps();
  EXPECT_EQ(refusal(s), "");
  s.save_steps = 30;
  EXPECT_THAT(refusal(s), HasSubstr("--save_steps 30 is not a multiple of --eval_steps 20"));
  s.save_steps = 0.5;
  EXPECT_THAT(refusal(s), HasSubstr("not a multiple"));
  s.eval_steps = 0.1;
  EXPECT_EQ(refusal(s), "");
  s.eval_strategy = "epoch";
  EXPECT_THAT(refusal(s), HasSubstr("--eval_strategy epoch, --save_strategy steps"));
  s.save_strategy = "best";
  EXPECT_EQ(refusal(s), "");
  TrainSettings patient;
  patient.early_stopping_patience = 2;
  EXPECT_THAT(refusal(patient), HasSubstr("no metric to follow"));
  patient.metric_for_best_model = "accuracy";
  EXPECT_THAT(refusal(patient), HasSubstr("needs evaluations"));
}

TEST(Logging, EveryRunHasACurve) {
  TrainSettings s;
  for (const auto& [total, every] : std::vector<std::pair<int64_t, double>>{{0, 1},
                                                                            {1, 1},
                                                                            {50, 1},
                                                                            {70, 1},
                                                                            {75, 2},
                                                                            {600, 10},
                                                                            {1000, 20},
                                                                            {2400, 50},
                                                                            {100000, 2000}})
    EXPECT_EQ(s.logging_interval(total), every) << total;
  for (int64_t total = 50; total < 1000000; total += total / 7) {
    const double entries = static_cast<double>(total) / s.logging_interval(total);
    EXPECT_TRUE(entries > 30 && entries < 80) << total << " steps, " << entries;
  }
  EXPECT_EQ(s.evaluation_interval(), 500) << "evaluations take time";
  s.logging_steps = 7;
  EXPECT_EQ(s.logging_interval(100000), 7);
  EXPECT_EQ(s.evaluation_interval(), 7);
}

TEST(BestModel, MetricAndDirection) {
  TrainSettings s;
  EXPECT_FALSE(best_metric_of(s));
  s.load_best_model_at_end = true;
  EXPECT_EQ(best_metric_of(s)->name, "eval_loss");
  EXPECT_FALSE(best_metric_of(s)->greater_is_better);
  s.metric_for_best_model = "accuracy";
  EXPECT_TRUE(best_metric_of(s)->greater_is_better);
  s.greater_is_better = false;
  EXPECT_FALSE(best_metric_of(s)->greater_is_better);
  const OrderedJson metrics{{"epoch", 1.0}, {"eval_loss", 2.0}, {"perplexity", 7.4}};
  EXPECT_THAT(value_of(*best_metric_of(s), metrics).error().text(),
              HasSubstr("choose one of eval_loss, perplexity"));
  s.metric_for_best_model = "perplexity";
  EXPECT_EQ(value_of(*best_metric_of(s), metrics).value(), 7.4);
}

TEST(EarlyStopping, CountsEvaluationsThatAreNotBetter) {
  TrainSettings s = best_by_steps();
  s.early_stopping_patience = 2;
  s.early_stopping_threshold = 0.1;
  auto stopping = make_early_stopping(s);
  BestModel best;
  auto evaluated = [&](double loss) {
    EXPECT_TRUE(stopping->on_evaluate({}, {{"eval_loss", loss}}, best).ok());
    if (!best.metric || loss < *best.metric) best.metric = loss;
    return stopping->stop();
  };
  EXPECT_FALSE(evaluated(3));
  EXPECT_FALSE(evaluated(2.95));  // better, but not by more than the threshold
  EXPECT_FALSE(evaluated(2.5));
  EXPECT_FALSE(evaluated(2.6));
  auto resumed = make_early_stopping(s);
  resumed->restore(stopping->state());
  EXPECT_TRUE(evaluated(2.45));
  EXPECT_FALSE(resumed->stop());
  EXPECT_TRUE(resumed->on_evaluate({}, {{"eval_loss", 9.0}}, best).ok());
  EXPECT_TRUE(resumed->stop());
}

}  // namespace
}  // namespace hone
