// rouge: mean F-measures of ROUGE-1, 2, L and Lsum (rouge_score.h); of several references the best
// for each type, as score_multi of rouge-score. Sentences of ROUGE-Lsum are the lines of the texts,
// or those of MetricOptions::sentences. The mean is exact, where rouge-score's aggregator (and
// run_summarization) give the median of 1,000 resampled means, which differs a little from run to
// run. With keep_examples 32 bytes an example.
#include <limits>

#include "learn/metrics/metric.h"
#include "learn/metrics/rouge_score.h"
#include "learn/metrics/sentences.h"
#include "learn/metrics/sums.h"

namespace hone {
namespace {

constexpr const char* kNames[kRougeTypes] = {"rouge1", "rouge2", "rougeL", "rougeLsum"};

class Rouge final : public Metric {
 public:
  explicit Rouge(const MetricOptions& o)
      : keep_(o.keep_examples), sentences_(o.sentences), scorer_(o.use_stemmer) {}

  void add_text(std::string_view prediction,
                std::span<const std::string_view> references) override {
    std::array<double, kRougeTypes> best{};
    if (sentences_ != nullptr) prediction = prediction_lines_ = sentences_->lines(prediction);
    for (std::string_view reference : references) {
      if (sentences_ != nullptr) reference = reference_lines_ = sentences_->lines(reference);
      const auto values = scorer_.score(prediction, reference);
      for (size_t t = 0; t < kRougeTypes; ++t) best[t] = std::max(best[t], values[t].fmeasure);
    }
    for (size_t t = 0; t < kRougeTypes; ++t) sums_[t].add(best[t]);
    ++examples_;
    if (keep_) kept_.push_back(best);
  }
  int64_t examples() const override { return examples_; }
  Result<MetricValues> values() const override { return means(sums_, examples_); }
  Result<MetricValues> values_of(std::span<const int32_t> times) const override {
    Sums sums;
    int64_t n = 0;
    for (size_t i = 0; i < times.size(); ++i) {
      for (size_t t = 0; t < kRougeTypes; ++t) sums[t].add(kept_[i][t] * times[i]);
      n += times[i];
    }
    return means(sums, n);
  }

 private:
  using Sums = std::array<ExactSum, kRougeTypes>;
  static MetricValues means(const Sums& sums, int64_t n) {
    MetricValues values;
    for (size_t t = 0; t < kRougeTypes; ++t)
      values.push_back({kNames[t], n == 0 ? std::numeric_limits<double>::quiet_NaN()
                                          : sums[t].value() / static_cast<double>(n)});
    return values;
  }

  bool keep_;
  const SentenceSplitter* sentences_;
  RougeScorer scorer_;
  std::string prediction_lines_, reference_lines_;
  Sums sums_;
  int64_t examples_ = 0;
  std::vector<std::array<double, kRougeTypes>> kept_;
};

}  // namespace

MetricType metric_rouge() {
  return {
      "rouge",
      "ROUGE-1, 2, L and Lsum, 0 to 1",
      MetricInput::kText,
      {},
      [](const MetricOptions& o) -> std::unique_ptr<Metric> { return std::make_unique<Rouge>(o); }};
}

}  // namespace hone
