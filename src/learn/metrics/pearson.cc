// pearson: scipy's pearsonr. With keep_examples 16 bytes an example.
#include "learn/metrics/correlation.h"
#include "learn/metrics/metric.h"

namespace hone {
namespace {

class Pearson final : public Metric {
 public:
  explicit Pearson(const MetricOptions& o) : keep_(o.keep_examples) {}
  void add_number(double prediction, double reference) override {
    sums_.add(prediction, reference);
    if (keep_) pairs_.emplace_back(prediction, reference);
  }
  int64_t examples() const override { return sums_.count(); }
  Result<MetricValues> values() const override {
    return MetricValues{{"pearson", sums_.pearson()}};
  }
  Result<MetricValues> values_of(std::span<const int32_t> times) const override {
    Correlation sums;
    for (size_t i = 0; i < times.size(); ++i) sums.add(pairs_[i].first, pairs_[i].second, times[i]);
    return MetricValues{{"pearson", sums.pearson()}};
  }

 private:
  bool keep_;
  Correlation sums_;
  std::vector<std::pair<double, double>> pairs_;
};

}  // namespace

MetricType metric_pearson() {
  return {"pearson",
          "Pearson's correlation of numbers",
          MetricInput::kNumber,
          {"pearsonr"},
          [](const MetricOptions& o) -> std::unique_ptr<Metric> {
            return std::make_unique<Pearson>(o);
          }};
}

}  // namespace hone
