// matthews_correlation: correlation of predicted and true classes, for any number of them
// (Gorodkin, "Comparing two K-category assignments by a K-category correlation coefficient", 2004);
// scikit-learn's matthews_corrcoef: 0 where all predictions, or all references, are one class.
#include <cmath>
#include <limits>

#include "learn/metrics/confusion.h"

namespace hone {
namespace {

class Matthews final : public LabelMetric {
 public:
  using LabelMetric::LabelMetric;

 private:
  Result<MetricValues> values_of(const Confusion& c) const override {
    return MetricValues{{"matthews_correlation", value_of(c)}};
  }

  static double value_of(const Confusion& c) {
    if (c.total() == 0) return std::numeric_limits<double>::quiet_NaN();
    double both = 0, predicted = 0, expected = 0;
    for (const auto& [label, n] : c.classes()) {
      const auto p = static_cast<double>(n.predicted), e = static_cast<double>(n.expected);
      both += p * e;
      predicted += p * p;
      expected += e * e;
    }
    const auto total = static_cast<double>(c.total()), right = static_cast<double>(c.right());
    const double below = (total * total - predicted) * (total * total - expected);
    return below == 0 ? 0 : (right * total - both) / std::sqrt(below);
  }
};

}  // namespace

MetricType metric_matthews_correlation() {
  return {"matthews_correlation",
          "Matthews' correlation of classes",
          MetricInput::kLabel,
          {"matthews_corrcoef", "mcc"},
          [](const MetricOptions& o) -> std::unique_ptr<Metric> {
            return std::make_unique<Matthews>(o);
          }};
}

}  // namespace hone
