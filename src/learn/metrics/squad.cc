// squad: exact matches and F1 of words of answers, in percent; SQuAD 1.1's official script.
#include <cmath>

#include "learn/metrics/answers.h"
#include "learn/metrics/metric.h"

namespace hone {
namespace {

class Squad final : public Metric {
 public:
  explicit Squad(const MetricOptions& o) : keep_(o.keep_examples) {}

  void add_text(std::string_view prediction,
                std::span<const std::string_view> references) override {
    const AnswerScore score = score_answer(
        prediction, std::vector<std::string>(references.begin(), references.end()), false);
    exact_ += score.exact, f1_ += score.f1;
    ++examples_;
    if (keep_) kept_.push_back(score);
  }
  int64_t examples() const override { return examples_; }
  Result<MetricValues> values() const override {
    return values_of(exact_, f1_, static_cast<double>(examples_));
  }
  Result<MetricValues> values_of(std::span<const int32_t> times) const override {
    double exact = 0, f1 = 0, count = 0;
    for (size_t i = 0; i < times.size(); ++i) {
      const auto n = static_cast<double>(times[i]);
      exact += n * kept_[i].exact, f1 += n * kept_[i].f1, count += n;
    }
    return values_of(exact, f1, count);
  }

 private:
  static MetricValues values_of(double exact, double f1, double count) {
    const double share = count > 0 ? 100 / count : std::nan("");
    return {{"exact_match", exact * share}, {"f1", f1 * share}};
  }

  bool keep_;
  int64_t examples_ = 0;
  double exact_ = 0, f1_ = 0;
  std::vector<AnswerScore> kept_;
};

}  // namespace

MetricType metric_squad() {
  return {
      "squad",
      "exact matches and F1 of the words of answers",
      MetricInput::kText,
      {},
      [](const MetricOptions& o) -> std::unique_ptr<Metric> { return std::make_unique<Squad>(o); },
      100};
}

}  // namespace hone
