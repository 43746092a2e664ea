// accuracy: share of predictions that are the reference; scikit-learn's accuracy_score.
#include "learn/metrics/confusion.h"
#include "learn/metrics/loss.h"

namespace hone {
namespace {

class AccuracyMetric final : public LabelMetric {
 public:
  using LabelMetric::LabelMetric;

 private:
  Result<MetricValues> values_of(const Confusion& c) const override {
    return MetricValues{{"accuracy", Accuracy{c.right(), c.total()}.value()}};
  }
};

}  // namespace

MetricType metric_accuracy() {
  return {"accuracy",
          "share of right labels",
          MetricInput::kLabel,
          {},
          [](const MetricOptions& o) -> std::unique_ptr<Metric> {
            return std::make_unique<AccuracyMetric>(o);
          }};
}

}  // namespace hone
