// f1: harmonic mean of precision and recall, 2 tp / (2 tp + fp + fn), 0 where that is 0 / 0;
// scikit-learn's f1_score with its averages: binary (of one class of two), macro (mean of the
// classes), micro (of all counts), weighted (mean by how often a class is the reference).
#include <limits>

#include "learn/metrics/confusion.h"
#include "learn/metrics/errors.h"

namespace hone {
namespace {

double f1_of(const ClassCounts& c) {
  const int64_t below = c.predicted + c.expected;
  return below == 0 ? 0 : 2 * static_cast<double>(c.right) / static_cast<double>(below);
}

class F1 final : public LabelMetric {
 public:
  explicit F1(const MetricOptions& o)
      : LabelMetric(o), average_(o.average), positive_(o.positive_label) {}

 private:
  Result<MetricValues> values_of(const Confusion& c) const override {
    const double f1 = HONE_TRY(value_of(c));
    return MetricValues{{"f1", f1}};
  }

  Result<double> value_of(const Confusion& c) const {
    if (c.total() == 0) return std::numeric_limits<double>::quiet_NaN();
    const auto& classes = c.classes();
    if (average_ == "binary") {
      if (classes.size() > 2)
        return Error(err::kMetricClasses,
                     fmt::format("the binary F1 of {} classes", classes.size()))
            .todo("choose an average over the classes: macro, micro or weighted (--f1_average)");
      const auto it = classes.find(positive_);
      if (it == classes.end() && classes.size() == 2)
        return Error(err::kMetricClasses,
                     "neither predictions nor references have the positive class of F1")
            .todo(
                "name its label with --pos_label, or choose an average over the classes "
                "(--f1_average macro)");
      return it == classes.end() ? 0.0 : f1_of(it->second);
    }
    if (average_ == "micro") return f1_of({c.total(), c.total(), c.right()});
    double sum = 0, weights = 0;
    for (const auto& [label, counts] : classes) {
      const double weight = average_ == "macro" ? 1 : static_cast<double>(counts.expected);
      sum += f1_of(counts) * weight;
      weights += weight;
    }
    return sum / weights;
  }

  std::string average_;
  int64_t positive_;
};

}  // namespace

MetricType metric_f1() {
  return {
      "f1",
      "harmonic mean of precision and recall",
      MetricInput::kLabel,
      {},
      [](const MetricOptions& o) -> std::unique_ptr<Metric> { return std::make_unique<F1>(o); }};
}

}  // namespace hone
