// spearmanr: Pearson's correlation of the ranks, equal values sharing their mean rank; scipy's
// spearmanr. Ranks need all values: 16 bytes an example. NaN with a NaN among the values.
#include <cmath>
#include <limits>

#include "learn/metrics/correlation.h"
#include "learn/metrics/metric.h"

namespace hone {
namespace {

class Spearman final : public Metric {
 public:
  explicit Spearman(const MetricOptions&) {}
  void add_number(double prediction, double reference) override {
    x_.push_back(prediction);
    y_.push_back(reference);
    any_nan_ = any_nan_ || std::isnan(prediction) || std::isnan(reference);
  }
  int64_t examples() const override { return static_cast<int64_t>(x_.size()); }
  Result<MetricValues> values() const override { return values_of({}); }
  // `times` empty: each once.
  Result<MetricValues> values_of(std::span<const int32_t> times) const override {
    if (any_nan_) return MetricValues{{"spearmanr", std::numeric_limits<double>::quiet_NaN()}};
    if (order_x_.size() != x_.size()) {
      order_x_ = sorted_order(x_);
      order_y_ = sorted_order(y_);
    }
    const std::vector<int64_t> x = doubled_ranks(x_, order_x_, times),
                               y = doubled_ranks(y_, order_y_, times);
    Correlation sums;
    for (size_t i = 0; i < x.size(); ++i)
      sums.add(static_cast<double>(x[i]), static_cast<double>(y[i]), times.empty() ? 1 : times[i]);
    return MetricValues{{"spearmanr", sums.pearson()}};
  }

 private:
  bool any_nan_ = false;
  std::vector<double> x_, y_;
  mutable std::vector<int32_t> order_x_, order_y_;  // made once for many values_of
};

}  // namespace

MetricType metric_spearmanr() {
  return {"spearmanr",
          "Spearman's correlation of ranks",
          MetricInput::kNumber,
          {"spearman"},
          [](const MetricOptions& o) -> std::unique_ptr<Metric> {
            return std::make_unique<Spearman>(o);
          }};
}

}  // namespace hone
